/** A number, or a word: a factor of a product, a step of a path. */
export type Word = number | string;

/** The numbers that sizes depend on. */
export interface Sizes {
    /** The extents of the domain. */
    readonly domain: readonly number[];
    /** The extents of each tensor, by name. */
    readonly extents?: Readonly<Record<string, readonly number[]>>;
    /** Groups that share the domain. The launcher chooses: 1 or more. */
    readonly parts: number;
    /** Copies of totals. The launcher chooses: 1 or more. */
    readonly copies: number;
}

function found<T>(value: T | undefined, what: string): T {
    if (value === undefined) throw new Error(`there is no ${what}`);
    return value;
}

/** Return a kernel. */
export function kernel(name: KernelName): Kernel {
    return found(KERNELS.find((each) => each.name === name), `kernel ${name}`);
}

/** Return a mode of a kernel: forward, backward, jvp. It throws if the mode was not compiled. */
export function modeOf(of: Kernel, name: string): Mode {
    return found(of.modes.find((each) => each.mode === name), `mode ${name} of ${of.name}`);
}

/** Return the entry point of a launch. */
export function entryPoint(of: Kernel, launch: Launch): EntryPoint {
    return found(of.entry_points.find((each) => each.name === launch.entry_point), launch.entry_point);
}

/** Return the code of an entry point for a target. It throws if it was not compiled. */
export function artefact(of: EntryPoint, target: string): Artefact {
    return found(of.artefacts.find((each) => each.target === target), `${target} of ${of.name}`);
}

/** Return the extents of a tensor. It throws if they are not there. */
export function extentsOf(tensor: string, sizes: Sizes): readonly number[] {
    return found(sizes.extents?.[tensor], `${tensor} in the extents of sizes`);
}

const all = (extents: readonly number[]): number => extents.reduce((total, extent) => total * extent, 1);

/** Return a product, such as the scalars of a buffer. */
export function product(factors: readonly Word[], sizes: Sizes): number {
    const value = (factor: Word): number => {
        if (typeof factor === "number") return factor;
        if (factor === "domain") return all(sizes.domain);
        if (factor === "parts") return sizes.parts;
        return factor.startsWith("extents:") ? all(extentsOf(factor.slice("extents:".length), sizes)) : sizes.copies;
    };
    return all(factors.map(value));
}

/** Return the groups of a launch along x, y and z. */
export function groups(launch: Launch, entry: EntryPoint, sizes: Sizes): [number, number, number] {
    const row = GROUPS_A_ROW;
    const count = product(launch.count, sizes);
    const threads = all(entry.group_size);
    if (launch.grid === "groups") return [count, 1, 1];
    if (launch.grid === "flat" && Math.ceil(count / threads) <= row) return [Math.ceil(count / threads), 1, 1];
    const [x = 1, y = 1, z = 1] = [...sizes.domain]
        .reverse()
        .map((extent, axis) => Math.ceil(extent / (entry.group_size[axis] ?? 1)));
    if (launch.grid === "axes" && Math.max(x, y, z) <= row) return [x, y, z];
    return [row, Math.ceil(count / (row * threads)), 1];
}

/**
 * Return the bytes of a uniform block, a multiple of 16.
 *
 * `uniform` returns the scalars of a uniform by key, such as `camera.fov`, row by row; `first` the first element of a
 * packed buffer, by the parameter's name. The scalars of a half are its bits.
 */
export function blockBytes(
    block: Block,
    entry: EntryPoint,
    launch: Launch,
    sizes: Sizes,
    uniform: (key: string) => readonly number[] = () => [],
    first: (parameter: string) => number = () => 0,
): ArrayBuffer {
    const bytes = new DataView(new ArrayBuffer(16 * Math.ceil(block.size / 16)));
    for (const member of block.members) {
        const named = entry.parameters.filter((each) => each.name === member.parameter);
        const path = member.path.join(".");
        const parameter = named.length === 1 ? named[0] : named.find((each) => each.path.join(".") === path);
        if (parameter === undefined) continue; // one that only other entry points use
        const key = [parameter.parameter, ...parameter.path].join(".");
        const values = valuesOf(parameter, entry, launch, sizes, () => uniform(key), first);
        const count = all(member.shape);
        if (values.length < count) throw new Error(`${key} has ${values.length} scalars and needs ${count}`);
        values.slice(0, count).forEach((value, number) => {
            let rest = number;
            let at = member.offset;
            for (let axis = member.shape.length - 1; axis >= 0; --axis) {
                const extent = member.shape[axis] ?? 1;
                at += (rest % extent) * (member.strides[axis] ?? 0);
                rest = Math.floor(rest / extent);
            }
            put(bytes, at, member.scalar, value);
        });
    }
    return bytes.buffer as ArrayBuffer;
}

function valuesOf(
    parameter: Parameter,
    entry: EntryPoint,
    launch: Launch,
    sizes: Sizes,
    uniform: () => readonly number[],
    first: (parameter: string) => number,
): readonly number[] {
    if (parameter.access !== "value") return [first(parameter.name)];
    switch (parameter.role) {
        case "domain":
            return entry.work === "scalars" ? [product(launch.count, sizes)] : sizes.domain;
        case "extents":
            return extentsOf(parameter.parameter, sizes);
        case "parts":
            return [sizes.parts];
        case "copies":
            return [sizes.copies];
        default:
            return uniform();
    }
}

function put(bytes: DataView, at: number, scalar: string, value: number): void {
    switch (scalar) {
        case "float32":
            return bytes.setFloat32(at, value, true);
        case "float64":
            return bytes.setFloat64(at, value, true);
        case "float16":
        case "uint16":
            return bytes.setUint16(at, value, true);
        case "int32":
            return bytes.setInt32(at, value, true);
        case "uint32":
        case "bool":
            return bytes.setUint32(at, value, true);
        default:
            throw new Error(`a block has a scalar of type ${scalar}`);
    }
}
