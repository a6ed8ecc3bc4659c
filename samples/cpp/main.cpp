// Trains the network of samples/mlp with gradient descent, in C++ alone.

#include "mlp.slangad.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{
constexpr std::uint32_t points = 4096;
constexpr float rate = 0.02f;

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
    const int steps = count > 1 ? std::atoi(words[1]) : 500;
    const std::vector<float> at = numbers(2 * points, 1, 1.0f);
    std::vector<std::vector<float>> weights = {
        numbers(16 * 4, 2, 0.5f), numbers(16, 3, 0.1f), numbers(4 * 16, 4, 0.25f), numbers(4, 5, 0.1f)};

    slangad::loss::Inputs inputs;
    inputs.at = at;
    inputs.net_hidden_weights = weights[0];
    inputs.net_hidden_biases = weights[1];
    inputs.net_output_weights = weights[2];
    inputs.net_output_biases = weights[3];

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

        if (step == 0 || step == steps)
            std::printf("step %d: loss %.6g, slope of the first weight %.6g\n", step, loss[0], slopes[0][0]);
        for (std::size_t part = 0; part < weights.size(); ++part)
            for (std::size_t k = 0; k < weights[part].size(); ++k)
                weights[part][k] -= rate * slopes[part][k];
    }
}
