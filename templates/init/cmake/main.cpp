// Fits the decay of fit.py by gradient descent, in C++ alone.

#include "fit.slangad.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

int main()
{
    constexpr std::uint32_t count = 300;
    constexpr float step_size = 0.5f;
    std::vector<float> time(count), seen(count), strength = {0.5f}, rate = {1.0f};
    for (std::uint32_t i = 0; i < count; ++i)
    {
        time[i] = 3.0f * static_cast<float>(i) / count;
        seen[i] = 0.8f * std::exp(-1.5f * time[i]); // put your measurements in the place of these
    }

    slangad::fit::Inputs inputs;
    inputs.decay_strength = strength;
    inputs.decay_rate = rate;
    inputs.time = time;
    inputs.seen = seen;
    for (int step = 0; step <= 2000; ++step)
    {
        std::vector<float> loss(1), d_strength(1), d_rate(1); // zeros: backward adds to them
        slangad::fit::Gradients gradients;
        gradients.result = loss;
        gradients.grad_decay_strength = d_strength;
        gradients.grad_decay_rate = d_rate;
        slangad::fit::backward(inputs, gradients, {count});
        strength[0] -= step_size * d_strength[0];
        rate[0] -= step_size * d_rate[0];
        if (step % 1000 == 0)
            std::printf("step %d: loss %.3g, strength %.3f, rate %.3f\n", step, loss[0], strength[0], rate[0]);
    }
}
