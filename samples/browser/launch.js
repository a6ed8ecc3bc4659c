// Launches kernels on WebGPU by their manifest alone; kernels with textures and struct uniforms need a little more.

const SCALARS = { float: Float32Array, int: Int32Array, uint: Uint32Array, bool: Uint32Array };
const ROW = 65535;
const CHOSEN = { parts: 16, copies: 4 };

/// The product of a manifest's list as a number. `extents` are those of each tensor.
function product(factors, domain, extents) {
  const value = (factor) => {
    if (typeof factor === "number") return factor;
    const [word, tensor] = factor.split(":");
    if (word === "domain") return domain.reduce((a, b) => a * b, 1);
    if (word === "extents") return extents[tensor].reduce((a, b) => a * b, 1);
    return CHOSEN[word];
  };
  return factors.reduce((total, factor) => total * value(factor), 1);
}

/// The groups of a launch along x, y and z.
function groups(grid, count, size, domain) {
  const threads = size[0] * size[1] * size[2];
  if (grid === "groups") return [count, 1, 1];
  if (grid === "flat") {
    const needed = Math.ceil(count / threads);
    return needed <= ROW ? [needed, 1, 1] : [ROW, Math.ceil(count / (ROW * threads)), 1];
  }
  const along = [...domain].reverse().concat(1, 1).slice(0, 3).map((extent, axis) => Math.ceil(extent / size[axis]));
  return Math.max(...along) <= ROW ? along : [ROW, Math.ceil(count / (ROW * threads)), 1];
}

/// Kernels of a compile, on a device that has what their WGSL needs.
export class Program {
  constructor(url, manifest, device) {
    Object.assign(this, { url, manifest, device, pipelines: new Map() });
  }

  static async load(url, kernel) {
    const manifest = await (await fetch(url)).json();
    const record = manifest.inputs.flatMap((input) => input.kernels).find((each) => each.name === kernel);
    const code = record.entry_points.flatMap((entry) => entry.artefacts).filter((each) => each.target === "wgsl");
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice({
      requiredFeatures: [...new Set(code.flatMap((each) => each.features))],
      requiredLimits: largest(code.map((each) => each.limits)),
    });
    const failed = new Promise((_, reject) =>
      device.addEventListener("uncapturederror", (event) => reject(event.error)));
    return Object.assign(new Program(url, record, device), { failed });
  }

  /// Create the buffers of a mode; `arrays` has inputs by key. Gradients start at zero, cotangents at one.
  buffers(name, arrays, domain, extents) {
    const result = new Map();
    for (const { key, scalar, scalars, start } of this.mode(name).buffers) {
      const values = new SCALARS[scalar](product(scalars, domain, extents)).fill(start === "one" ? 1 : 0);
      values.set(arrays[key] ?? values);
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
      result.set(key, this.filled(values.buffer, usage));
    }
    return result;
  }

  mode(name) {
    return this.manifest.modes.find((mode) => mode.mode === name);
  }

  filled(bytes, usage) {
    const buffer = this.device.createBuffer({ size: bytes.byteLength, usage, mappedAtCreation: true });
    new Uint8Array(buffer.getMappedRange()).set(new Uint8Array(bytes));
    buffer.unmap();
    return buffer;
  }

  /// Run all launches of a mode in order, and return the asked buffers by key.
  async launch(name, arrays, domain, extents, asked) {
    const mode = this.mode(name);
    const buffers = this.buffers(name, arrays, domain, extents);
    const bound = new Map(mode.buffers.flatMap(({ key, bound }) =>
      bound.map((use) => [`${use.entry_point} ${use.parameter}`, buffers.get(key)])));
    const encoder = this.device.createCommandEncoder();
    for (const launch of mode.launches) {
      const entry = this.manifest.entry_points.find((each) => each.name === launch.entry_point);
      const code = entry.artefacts.find((each) => each.target === "wgsl");
      const count = product(launch.count, domain, extents);
      const { pipeline, declared } = await this.pipeline(code);
      const entries = [], packs = new Map();
      const bind = (binding, buffer) => declared.has(binding) && entries.push({ binding, resource: { buffer } });
      for (const { name, bindings } of entry.parameters) {
        const buffer = bound.get(`${entry.name} ${name}`);
        if (!buffer) continue;
        const { kind, index, elementStride } = bindings.wgsl;
        if (kind === "packed") packs.set(index, [...(packs.get(index) ?? []), { name, buffer, elementStride }]);
        else bind(index, buffer);
      }
      const firsts = {};
      for (const [index, members] of packs) bind(index, this.pack(encoder, members, firsts));
      for (const block of code.blocks) {
        const bytes = this.uniforms(block, entry, count, { ...arrays, firsts }, domain, extents);
        bind(block.index, this.filled(bytes, GPUBufferUsage.UNIFORM));
      }
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(...groups(launch.grid, count, entry.group_size, domain));
      pass.end();
    }
    const copies = asked.map((key) => {
      const { size } = buffers.get(key);
      const copy = this.device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
      encoder.copyBufferToBuffer(buffers.get(key), 0, copy, 0, size);
      return [key, copy];
    });
    this.device.queue.submit([encoder.finish()]);
    const result = {};
    for (const [key, copy] of copies) {
      await Promise.race([copy.mapAsync(GPUMapMode.READ), this.failed]);
      const { scalar } = mode.buffers.find((buffer) => buffer.key === key);
      result[key] = new SCALARS[scalar](copy.getMappedRange().slice(0));
      copy.destroy();
    }
    buffers.forEach((buffer) => buffer.destroy());
    return result;
  }

  /// One buffer with the contents of several; `firsts` gets the first element of each.
  pack(encoder, members, firsts) {
    let size = 0;
    for (const { name, buffer, elementStride } of members) {
      firsts[name] = size / elementStride;
      size += Math.ceil(buffer.size / 16) * 16;
    }
    const packed = this.device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
    for (const { name, buffer, elementStride } of members)
      encoder.copyBufferToBuffer(buffer, 0, packed, firsts[name] * elementStride, buffer.size);
    return packed;
  }

  /// The pipeline of an artefact, and the bindings that its code declares.
  async pipeline(artefact) {
    if (!this.pipelines.has(artefact.file)) {
      const code = await (await fetch(new URL(artefact.file, new URL(this.url, document.baseURI)))).text();
      const compute = { module: this.device.createShaderModule({ code }), entryPoint: artefact.entry };
      const pipeline = await this.device.createComputePipelineAsync({ layout: "auto", compute });
      const declared = new Set([...code.matchAll(/@binding\((\d+)\)/g)].map((match) => Number(match[1])));
      this.pipelines.set(artefact.file, { pipeline, declared });
    }
    return this.pipelines.get(artefact.file);
  }

  /// The bytes of a uniform block.
  uniforms(block, entry, count, arrays, domain, extents) {
    const bytes = new DataView(new ArrayBuffer(16 * Math.ceil(block.size / 16)));
    for (const { parameter: name, offset, shape, strides, scalar } of block.members) {
      const parameter = entry.parameters.find((each) => each.name === name);
      if (!parameter) continue; // one that only other entry points use
      const values = [this.value(parameter, entry, count, arrays, domain, extents)].flat();
      const step = shape.length ? strides[0] : 4;
      const put = scalar === "float32" ? "setFloat32" : "setUint32";
      values.forEach((value, k) => bytes[put](offset + k * step, value, true));
    }
    return bytes.buffer;
  }

  value(parameter, entry, count, arrays, domain, extents) {
    if (parameter.name in arrays.firsts) return arrays.firsts[parameter.name];
    switch (parameter.role) {
      case "domain": return entry.work === "scalars" ? count : domain;
      case "extents": return extents[parameter.parameter];
      case "parts": case "copies": return CHOSEN[parameter.role];
      default: return [...arrays[[parameter.parameter, ...parameter.path].join(".")]];
    }
  }
}

/// Return each limit once, with its largest value.
function largest(limits) {
  const result = {};
  for (const [name, value] of limits.flatMap(Object.entries)) {
    result[name] = Math.max(value, result[name] ?? 0);
  }
  return result;
}
