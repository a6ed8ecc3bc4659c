// The least of Vulkan that launches a mode of a kernel, from the tables of a header of slangad alone.
#pragma once

#include <vulkan/vulkan.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

inline void check(VkResult result, const char* what)
{
    if (result != VK_SUCCESS)
        throw std::runtime_error(std::string(what) + ": VkResult " + std::to_string(result));
}

/// A struct of Vulkan with its type, and zeros.
template <class T>
T made(VkStructureType type)
{
    T result = {};
    result.sType = type;
    return result;
}

/// A device with one queue, and with the features that artefacts name.
struct Gpu
{
    VkInstance instance = {};
    VkPhysicalDevice adapter = {};
    VkDevice device = {};
    VkQueue queue = {};
    VkCommandPool commands = {};
    std::string name;
    std::uint32_t family = 0;

    explicit Gpu(const std::set<std::string>& features)
    {
        auto application = made<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
        application.apiVersion = VK_API_VERSION_1_2;
        auto info = made<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
        info.pApplicationInfo = &application;
        check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
        std::uint32_t count = 1;
        vkEnumeratePhysicalDevices(instance, &count, &adapter); // the first one
        if (count == 0)
            throw std::runtime_error("there is no Vulkan device");
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(adapter, &properties);
        name = properties.deviceName;
        find_family();

        // Features that the device has are switched on; of extensions, those that the artefacts name.
        auto has = made<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
        auto newer = made<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
        auto atomics = made<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
        std::vector<const char*> extensions;
        has.pNext = &newer;
        if (features.count("AtomicFloat32AddEXT"))
        {
            newer.pNext = &atomics;
            extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
        }
        vkGetPhysicalDeviceFeatures2(adapter, &has);
        const float priority = 1.0f;
        auto of_queue = made<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
        of_queue.queueFamilyIndex = family;
        of_queue.queueCount = 1;
        of_queue.pQueuePriorities = &priority;
        auto of_device = made<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
        of_device.pNext = &has;
        of_device.queueCreateInfoCount = 1;
        of_device.pQueueCreateInfos = &of_queue;
        of_device.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
        of_device.ppEnabledExtensionNames = extensions.data();
        check(vkCreateDevice(adapter, &of_device, nullptr, &device), "vkCreateDevice");
        vkGetDeviceQueue(device, family, 0, &queue);
        auto pool = made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
        pool.queueFamilyIndex = family;
        check(vkCreateCommandPool(device, &pool, nullptr, &commands), "vkCreateCommandPool");
    }

    Gpu(const Gpu&) = delete;

    ~Gpu()
    {
        vkDestroyCommandPool(device, commands, nullptr);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }

private:
    void find_family()
    {
        std::uint32_t count = 0;
        vkGetPhysicalDeviceQueueFamilyProperties(adapter, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        vkGetPhysicalDeviceQueueFamilyProperties(adapter, &count, families.data());
        while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
            ++family;
    }
};

/// Memory that the host sees too. A program for large buffers copies them to memory of the device instead.
struct Memory
{
    const Gpu& gpu;
    VkBuffer buffer = {};
    VkDeviceMemory memory = {};
    std::size_t size;
    void* data = nullptr;

    Memory(const Gpu& of, std::size_t bytes, VkBufferUsageFlags usage) : gpu(of), size(bytes)
    {
        auto info = made<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
        info.size = size;
        info.usage = usage;
        check(vkCreateBuffer(gpu.device, &info, nullptr, &buffer), "vkCreateBuffer");
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(gpu.device, buffer, &needs);
        VkPhysicalDeviceMemoryProperties kinds;
        vkGetPhysicalDeviceMemoryProperties(gpu.adapter, &kinds);
        const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        std::uint32_t kind = 0;
        while ((needs.memoryTypeBits >> kind & 1) == 0 || (kinds.memoryTypes[kind].propertyFlags & seen) != seen)
            ++kind;
        auto allocate = made<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
        allocate.allocationSize = needs.size;
        allocate.memoryTypeIndex = kind;
        check(vkAllocateMemory(gpu.device, &allocate, nullptr, &memory), "vkAllocateMemory");
        check(vkBindBufferMemory(gpu.device, buffer, memory, 0), "vkBindBufferMemory");
        check(vkMapMemory(gpu.device, memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
    }

    Memory(const Memory&) = delete;

    ~Memory()
    {
        vkDestroyBuffer(gpu.device, buffer, nullptr);
        vkFreeMemory(gpu.device, memory, nullptr);
    }
};

/// A mode of a kernel: its buffers, and a command buffer with its launches in order.
template <class Sizes>
class Mode
{
public:
    template <std::size_t B, std::size_t L>
    Mode(
        Gpu& of, const std::array<slangad_runtime::BufferInfo<Sizes>, B>& buffers,
        const std::array<slangad_runtime::LaunchInfo<Sizes>, L>& launches, const Sizes& sizes,
        const std::string& folder)
        : gpu(of)
    {
        for (const auto& buffer : buffers)
        {
            const std::size_t bytes = buffer.scalars(sizes) * 4; // this program has no halves and doubles
            memory.try_emplace(buffer.key, gpu, bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
            starts.emplace_back(buffer.key, buffer.start);
        }
        auto allocate = made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        allocate.commandPool = gpu.commands;
        allocate.commandBufferCount = 1;
        check(vkAllocateCommandBuffers(gpu.device, &allocate, &recorded), "vkAllocateCommandBuffers");
        auto begin = made<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
        check(vkBeginCommandBuffer(recorded, &begin), "vkBeginCommandBuffer");
        for (const auto& launch : launches)
            record(launch, sizes, folder);
        check(vkEndCommandBuffer(recorded), "vkEndCommandBuffer");
    }

    Mode(const Mode&) = delete;

    ~Mode()
    {
        for (VkDescriptorPool pool : pools)
            vkDestroyDescriptorPool(gpu.device, pool, nullptr);
        for (VkPipeline pipeline : pipelines)
            vkDestroyPipeline(gpu.device, pipeline, nullptr);
        for (VkPipelineLayout layout : layouts)
            vkDestroyPipelineLayout(gpu.device, layout, nullptr);
        for (VkDescriptorSetLayout layout : set_layouts)
            vkDestroyDescriptorSetLayout(gpu.device, layout, nullptr);
    }

    /// The contents of a buffer; valid until the mode ends.
    float* operator[](const std::string& key) { return static_cast<float*>(memory.at(key).data); }

    void set(const std::string& key, const std::vector<float>& values)
    {
        std::memcpy(memory.at(key).data, values.data(), values.size() * sizeof(float));
    }

    /// Launch all entry points of the mode and wait. Gradients start at zero, cotangents at one.
    void run()
    {
        for (const auto& [key, start] : starts)
            if (start == "zero" || start == "one")
            {
                float* first = (*this)[key];
                std::fill(first, first + memory.at(key).size / sizeof(float), start == "one" ? 1.0f : 0.0f);
            }
        auto submit = made<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
        submit.commandBufferCount = 1;
        submit.pCommandBuffers = &recorded;
        check(vkQueueSubmit(gpu.queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
        check(vkQueueWaitIdle(gpu.queue), "vkQueueWaitIdle");
    }

private:
    Gpu& gpu;
    std::map<std::string, Memory> memory;
    std::vector<std::pair<std::string, std::string>> starts;
    std::vector<VkDescriptorPool> pools;
    std::vector<VkPipeline> pipelines;
    std::vector<VkPipelineLayout> layouts;
    std::vector<VkDescriptorSetLayout> set_layouts;
    VkCommandBuffer recorded = {};

    /// The bytes of a block: what ``value`` computes, at its offset.
    static std::vector<unsigned char> block(
        const slangad_runtime::ArtefactInfo<Sizes>& code, std::size_t bytes, bool shared, const Sizes& sizes)
    {
        std::vector<unsigned char> result(bytes);
        for (std::size_t k = 0; k < code.binding_count; ++k)
        {
            const auto& binding = code.bindings[k];
            if (binding.value == nullptr || binding.shared != shared)
                continue;
            const slangad_runtime::Words words = binding.value(sizes);
            std::memcpy(result.data() + binding.at, words.data(), words.size() * sizeof(std::uint32_t));
        }
        return result;
    }

    void record(const slangad_runtime::LaunchInfo<Sizes>& launch, const Sizes& sizes, const std::string& folder)
    {
        const slangad_runtime::ArtefactInfo<Sizes>& code = launch.artefact("spirv");
        std::map<std::uint32_t, std::pair<VkDescriptorType, const Memory*>> bound;
        for (std::size_t k = 0; k < code.binding_count; ++k)
        {
            const auto& binding = code.bindings[k];
            if (std::string(binding.kind) == "descriptorTableSlot")
                bound[static_cast<std::uint32_t>(binding.at)] = {
                    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, &memory.at(binding.key)};
        }
        std::vector<unsigned char> pushed;
        for (const bool shared : {false, true})
        {
            const slangad_runtime::BlockInfo& info = shared ? code.globals : code.block;
            const std::vector<unsigned char> bytes = block(code, info.size, shared, sizes);
            if (std::string(info.kind) == "pushConstantBuffer")
                pushed = bytes;
            else if (!bytes.empty())
            {
                const std::string name = std::string(launch.entry) + (shared ? " globals" : " block");
                Memory& uniforms =
                    memory.try_emplace(name, gpu, bytes.size(), VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT).first->second;
                std::memcpy(uniforms.data, bytes.data(), bytes.size());
                bound[static_cast<std::uint32_t>(info.index)] = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, &uniforms};
            }
        }
        const VkDescriptorSet set = describe(bound);
        const VkPipeline pipeline = compile(folder + "/" + code.file, code.entry, pushed.size());
        vkCmdBindPipeline(recorded, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        vkCmdBindDescriptorSets(recorded, VK_PIPELINE_BIND_POINT_COMPUTE, layouts.back(), 0, 1, &set, 0, nullptr);
        if (!pushed.empty())
            vkCmdPushConstants(
                recorded, layouts.back(), VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<std::uint32_t>(pushed.size()),
                pushed.data());
        const slangad_runtime::Groups groups = launch.groups(sizes);
        vkCmdDispatch(recorded, groups[0], groups[1], groups[2]);
        // The next launch reads what this one wrote.
        auto barrier = made<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
        vkCmdPipelineBarrier(
            recorded, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
    }

    VkDescriptorSet describe(const std::map<std::uint32_t, std::pair<VkDescriptorType, const Memory*>>& bound)
    {
        std::vector<VkDescriptorSetLayoutBinding> places;
        std::vector<VkDescriptorPoolSize> counts;
        for (const auto& [index, what] : bound)
        {
            places.push_back({index, what.first, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
            counts.push_back({what.first, 1});
        }
        auto layout = made<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
        layout.bindingCount = static_cast<std::uint32_t>(places.size());
        layout.pBindings = places.data();
        set_layouts.emplace_back();
        check(
            vkCreateDescriptorSetLayout(gpu.device, &layout, nullptr, &set_layouts.back()),
            "vkCreateDescriptorSetLayout");
        auto pool = made<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
        pool.maxSets = 1;
        pool.poolSizeCount = static_cast<std::uint32_t>(counts.size());
        pool.pPoolSizes = counts.data();
        pools.emplace_back();
        check(vkCreateDescriptorPool(gpu.device, &pool, nullptr, &pools.back()), "vkCreateDescriptorPool");
        auto allocate = made<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
        allocate.descriptorPool = pools.back();
        allocate.descriptorSetCount = 1;
        allocate.pSetLayouts = &set_layouts.back();
        VkDescriptorSet set = {};
        check(vkAllocateDescriptorSets(gpu.device, &allocate, &set), "vkAllocateDescriptorSets");
        for (const auto& [index, what] : bound)
        {
            const VkDescriptorBufferInfo whole = {what.second->buffer, 0, VK_WHOLE_SIZE};
            auto write = made<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
            write.dstSet = set;
            write.dstBinding = index;
            write.descriptorCount = 1;
            write.descriptorType = what.first;
            write.pBufferInfo = &whole;
            vkUpdateDescriptorSets(gpu.device, 1, &write, 0, nullptr);
        }
        return set;
    }

    VkPipeline compile(const std::string& file, const char* entry, std::size_t pushed)
    {
        std::ostringstream bytes;
        bytes << std::ifstream(file, std::ios::binary).rdbuf();
        const std::string text = bytes.str();
        if (text.empty())
            throw std::runtime_error("no code in " + file);
        std::vector<std::uint32_t> words(text.size() / sizeof(std::uint32_t));
        std::memcpy(words.data(), text.data(), text.size());
        auto module = made<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
        module.codeSize = text.size();
        module.pCode = words.data();
        auto info = made<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.pName = entry;
        check(vkCreateShaderModule(gpu.device, &module, nullptr, &info.stage.module), "vkCreateShaderModule");
        const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<std::uint32_t>(pushed)};
        auto layout = made<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
        layout.setLayoutCount = 1;
        layout.pSetLayouts = &set_layouts.back();
        layout.pushConstantRangeCount = pushed > 0;
        layout.pPushConstantRanges = &range;
        layouts.emplace_back();
        check(vkCreatePipelineLayout(gpu.device, &layout, nullptr, &layouts.back()), "vkCreatePipelineLayout");
        info.layout = layouts.back();
        pipelines.emplace_back();
        check(
            vkCreateComputePipelines(gpu.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipelines.back()),
            "vkCreateComputePipelines");
        vkDestroyShaderModule(gpu.device, info.stage.module, nullptr);
        return pipelines.back();
    }
};

/// The features that the launches of a mode need.
template <class Launches>
void add_features(const Launches& launches, std::set<std::string>& features)
{
    for (const auto& launch : launches)
    {
        std::istringstream words(launch.artefact("spirv").features);
        for (std::string word; words >> word;)
            features.insert(word);
    }
}
