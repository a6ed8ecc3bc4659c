// Trains the curve of samples/curve on a GPU, through Vulkan and the header that slangad writes.

#include "../curve/train.hpp"
#include "gpu.hpp"

#include <cstdlib>

int main(int count, char** words)
{
    std::set<std::string> features;
    add_features(slangad::fit::forward_launches, features);
    add_features(slangad::fit::backward_launches, features);
    Gpu gpu(features);
    train<Mode>(gpu, count > 1 ? words[1] : "shaders", count > 2 ? std::atoi(words[2]) : 200, count > 3 ? words[3] : nullptr);
}
