// Trains the curve on a device: forward, backward, steps of gradient descent. samples/vulkan and samples/cuda use it.
#pragma once

#include "../cpp/picture.hpp"
#include "curve.slangad.hpp"

#include <cstdio>

inline void print(const char* name, const float* values, std::size_t count)
{
    std::printf("%s", name);
    for (std::size_t k = 0; k < count; ++k)
        std::printf(" %.7g", static_cast<double>(values[k]));
    std::printf("\n");
}

/// Trains, prints, and draws if ``picture`` is a path.
/// ``Mode`` takes a device and the tables of a mode, and has ``set``, ``run`` and ``[]`` for its buffers.
template <template <class> class Mode, class Device>
void train(Device& device, const std::string& folder, int steps, const char* picture)
{
    namespace fit = slangad::fit;
    constexpr std::uint32_t points = 1000, knots = 6;
    constexpr float rate = 0.5f;

    fit::Sizes sizes;
    sizes.domain = {points};
    sizes.extents_knots = {knots};
    sizes.parts = 16;
    sizes.copies_knots = 4;
    Mode<fit::Sizes> forward(device, fit::forward_buffers, fit::forward_launches, sizes, folder);
    Mode<fit::Sizes> backward(device, fit::backward_buffers, fit::backward_launches, sizes, folder);

    std::vector<float> at(points), seen(points);
    for (std::uint32_t i = 0; i < points; ++i)
    {
        at[i] = (static_cast<float>(i) + 0.5f) / points;
        seen[i] = at[i] * at[i];
    }
    for (Mode<fit::Sizes>* mode : {&forward, &backward})
    {
        mode->set("at", at);
        mode->set("seen", seen);
        mode->set("knots", std::vector<float>(knots, 0.5f));
        mode->set("gain", {1.0f});
    }
    forward.run();
    print("forward", forward["result"], 1);
    const auto curve = [&]
    {
        std::vector<float> values(knots);
        for (std::uint32_t k = 0; k < knots; ++k)
            values[k] = backward["gain"][0] * backward["knots"][k];
        return values;
    };
    const std::vector<float> start = curve();
    std::vector<float> losses;
    for (int step = 0; step <= steps; ++step)
    {
        backward.run();
        losses.push_back(backward["result"][0]);
        if (step == 0)
        {
            print("result", backward["result"], 1);
            print("grad.gain", backward["grad.gain"], 1);
            print("grad.knots", backward["grad.knots"], knots);
        }
        if (step == steps)
            break;
        backward["gain"][0] -= rate * backward["grad.gain"][0];
        for (std::uint32_t k = 0; k < knots; ++k)
            backward["knots"][k] -= rate * backward["grad.knots"][k];
    }
    print("trained", backward["result"], 1);
    print("gain", backward["gain"], 1);
    print("knots", backward["knots"], knots);
    if (picture)
        draw(picture,
            {{"the curve through six knots", {{seen, "#8c959f", "points"}, {start, "#bc4c00", "at first"}, {curve(), "#0550ae", "trained"}}},
                {"loss of each step, 0 to " + std::to_string(steps), {{losses, "#bc4c00", "mean squared error"}}, true}});
}
