// Trains the network of samples/mlp with gradient descent, in C++ alone: train [STEPS [PICTURE.svg]].

#include "mlp.slangad.hpp"
#include "picture.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{
constexpr std::uint32_t points = 4096;
constexpr float rate = 0.1f;

/// Numbers from -1 to 1, the same on every machine.
std::vector<float> numbers(std::size_t count, std::uint32_t seed, float scale)
{
    std::vector<float> values(count);
    for (float& value : values)
    {
        seed = seed * 1664525u + 1013904223u;
        value = scale * (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
    }
    return values;
}
} // namespace

int main(int count, char** words)
{
    const int steps = count > 1 ? std::atoi(words[1]) : 1000;
    std::vector<float> at = numbers(2 * points, 1, 0.5f);
    for (float& coordinate : at)
        coordinate += 0.5f; // points of the unit square
    std::vector<std::vector<float>> weights = {
        numbers(16 * 4, 2, 0.5f), numbers(16, 3, 0.1f), numbers(4 * 16, 4, 0.25f), numbers(4, 5, 0.1f)};

    slangad::loss::Inputs inputs;
    inputs.at = at;
    inputs.net_hidden_weights = weights[0];
    inputs.net_hidden_biases = weights[1];
    inputs.net_output_weights = weights[2];
    inputs.net_output_biases = weights[3];

    std::vector<float> losses;
    for (int step = 0; step <= steps; ++step)
    {
        std::vector<float> loss(1);
        std::vector<std::vector<float>> slopes; // backward adds to gradients: they start at zero in each step
        for (const std::vector<float>& part : weights)
            slopes.emplace_back(part.size());

        slangad::loss::Gradients gradients;
        gradients.result = loss;
        gradients.grad_net_hidden_weights = slopes[0];
        gradients.grad_net_hidden_biases = slopes[1];
        gradients.grad_net_output_weights = slopes[2];
        gradients.grad_net_output_biases = slopes[3];
        slangad::loss::backward(inputs, gradients, {points});

        losses.push_back(loss[0]);
        if (step == 0 || step == steps)
            std::printf("step %d: loss %.6g, slope of the first weight %.6g\n", step, loss[0], slopes[0][0]);
        for (std::size_t part = 0; part < weights.size(); ++part)
            for (std::size_t k = 0; k < weights[part].size(); ++k)
                weights[part][k] -= rate * slopes[part][k];
    }
    if (count > 2)
        draw(words[2], {{"loss of each step, 0 to " + std::to_string(steps), {{losses, "#bc4c00", "the mean squared error of 4096 points"}}, true}});
}
