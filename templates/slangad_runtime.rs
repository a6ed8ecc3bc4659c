/// A number, or a word: a factor of a product, a step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    Number(u32),
    Text(&'static str),
}

/// The numbers that sizes depend on.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// The extents of the domain.
    pub domain: Vec<u32>,
    /// The extents of each tensor, by name.
    pub extents: Vec<(&'static str, Vec<u32>)>,
    /// Groups that share the domain. The launcher chooses: 1 or more.
    pub parts: u32,
    /// Copies of totals. The launcher chooses: 1 or more.
    pub copies: u32,
}

impl Sizes {
    /// Return the extents of a tensor. Panics if they are not there.
    pub fn extents_of(&self, tensor: &str) -> &[u32] {
        match self.extents.iter().find(|(name, _)| *name == tensor) {
            Some((_, extents)) => extents,
            None => panic!("the extents of {} are missing in sizes", tensor),
        }
    }
}

/// Return a kernel; None if there is none of this name.
pub fn kernel(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

impl Kernel {
    /// Return a mode: forward, backward, jvp; None if it was not compiled.
    pub fn mode(&self, name: &str) -> Option<&'static Mode> {
        self.modes.iter().find(|mode| mode.mode == name)
    }

    /// Return the entry point of a launch.
    pub fn entry_point(&self, launch: &Launch) -> &'static EntryPoint {
        self.entry_points.iter().find(|entry| entry.name == launch.entry_point).expect("of the same kernel")
    }
}

impl EntryPoint {
    /// Return the code for a target; None if it was not compiled.
    pub fn artefact(&self, target: &str) -> Option<&'static Artefact> {
        self.artefacts.iter().find(|artefact| artefact.target == target)
    }
}

/// Return a product, such as the scalars of a buffer.
pub fn product(factors: &[Word], sizes: &Sizes) -> u64 {
    let all = |extents: &[u32]| extents.iter().map(|&extent| u64::from(extent)).product::<u64>();
    let value = |factor: &Word| match *factor {
        Word::Number(number) => u64::from(number),
        Word::Text("domain") => all(&sizes.domain),
        Word::Text("parts") => u64::from(sizes.parts),
        Word::Text(word) => match word.split_once(':') {
            Some(("extents", tensor)) => all(sizes.extents_of(tensor)),
            _ => u64::from(sizes.copies),
        },
    };
    factors.iter().map(value).product()
}

/// Return the groups of a launch along x, y and z.
pub fn groups(launch: &Launch, entry: &EntryPoint, sizes: &Sizes) -> [u32; 3] {
    const ROW: u64 = GROUPS_A_ROW;
    let count = product(launch.count, sizes);
    let divided = |number: u64, by: u64| (number + by - 1) / by;
    let threads: u64 = entry.group_size.iter().map(|&size| u64::from(size)).product();
    if launch.grid == "groups" {
        return [count as u32, 1, 1];
    }
    if launch.grid == "flat" && divided(count, threads) <= ROW {
        return [divided(count, threads) as u32, 1, 1];
    }
    let mut along = [1u64; 3];
    for (axis, extent) in sizes.domain.iter().rev().enumerate() {
        along[axis] = divided(u64::from(*extent), u64::from(entry.group_size[axis]));
    }
    if launch.grid == "axes" && along.iter().all(|&number| number <= ROW) {
        return [along[0] as u32, along[1] as u32, along[2] as u32];
    }
    [ROW as u32, divided(count, ROW * threads) as u32, 1]
}

/// Return the bytes of a uniform block, a multiple of 16.
///
/// `uniform` returns the scalars of a uniform by key, such as `camera.fov`, row by row; `first` the first element of a
/// packed buffer, by the parameter's name. The scalars of a half are its bits.
pub fn block_bytes(
    block: &Block,
    entry: &EntryPoint,
    launch: &Launch,
    sizes: &Sizes,
    uniform: &dyn Fn(&str) -> Vec<f64>,
    first: &dyn Fn(&str) -> u32,
) -> Vec<u8> {
    let mut bytes = vec![0u8; (block.size as usize + 15) / 16 * 16];
    for member in block.members {
        let named = entry.parameters.iter().filter(|each| each.name == member.parameter);
        let alone = named.clone().count() == 1;
        let parameter = match named.clone().find(|each| alone || path_of(each) == member.path.join(".")) {
            Some(parameter) => parameter,
            None => continue, // one that only other entry points use
        };
        let numbers = |values: &[u32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
        let values = match parameter.role {
            _ if parameter.access != "value" => vec![f64::from(first(parameter.name))],
            "domain" if entry.work == "scalars" => vec![product(launch.count, sizes) as f64],
            "domain" => numbers(&sizes.domain),
            "extents" => numbers(sizes.extents_of(parameter.parameter)),
            "parts" => vec![f64::from(sizes.parts)],
            "copies" => vec![f64::from(sizes.copies)],
            _ => uniform(&key_of(parameter)),
        };
        let count: usize = member.shape.iter().map(|&extent| extent as usize).product();
        assert!(values.len() >= count, "{} has {} scalars and needs {}", key_of(parameter), values.len(), count);
        for (number, value) in values.iter().take(count).enumerate() {
            let (mut rest, mut at) = (number, member.offset as usize);
            for (extent, stride) in member.shape.iter().zip(member.strides).rev() {
                at += rest % *extent as usize * *stride as usize;
                rest /= *extent as usize;
            }
            put(&mut bytes[at..], member.scalar, *value);
        }
    }
    bytes
}

fn path_of(parameter: &Parameter) -> String {
    let text = |step: &Word| match *step {
        Word::Number(number) => number.to_string(),
        Word::Text(text) => text.to_string(),
    };
    parameter.path.iter().map(text).collect::<Vec<String>>().join(".")
}

fn key_of(parameter: &Parameter) -> String {
    let path = path_of(parameter);
    let dot = if path.is_empty() { "" } else { "." };
    format!("{}{}{}", parameter.parameter, dot, path)
}

fn put(bytes: &mut [u8], scalar: &str, value: f64) {
    match scalar {
        "float32" => bytes[..4].copy_from_slice(&(value as f32).to_le_bytes()),
        "float64" => bytes[..8].copy_from_slice(&value.to_le_bytes()),
        "float16" | "uint16" => bytes[..2].copy_from_slice(&(value as u16).to_le_bytes()),
        "int32" => bytes[..4].copy_from_slice(&(value as i32).to_le_bytes()),
        "uint32" | "bool" => bytes[..4].copy_from_slice(&(value as u32).to_le_bytes()),
        _ => panic!("a block has a scalar of type {}", scalar),
    }
}
