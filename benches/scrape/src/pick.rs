//! In: the modules of this process and a seed. Out: run-time addresses as they stand in stacks (return addresses), the same ones every time.
//! What is there to be named is read from the symbol tables by `object`, not from an index.
//! Never: gives an address twice.

use std::collections::HashSet;

use object::{Object, ObjectSection, ObjectSymbol, elf};
use symidx::process::Module;

use crate::Result;

/// What an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A function with a size.
    Function,
    /// A stub of the procedure linkage table.
    Stub,
    /// Code that no symbol with a size covers: padding, and labels without one.
    Gap,
}

/// One entry of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Address after the call.
    pub address: u64,
    pub class: Class,
    /// The module's number.
    pub module: u32,
}

/// Small, and the same everywhere (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A place in a list of that length.
    pub fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap_or(1))).unwrap_or(0)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(end)) >> 64).unwrap_or(0)
    }
}

/// `count` addresses in a module whose svmas were moved by `bias`: of twenty, one in a stub and one in a gap, where the module has those.
pub fn pick(
    module: &Module,
    number: u32,
    bias: u64,
    count: usize,
    functions_only: bool,
    random: &mut Random,
) -> Result<Vec<Frame>> {
    let bytes = std::fs::read(module.file())?;
    let file = object::File::parse(&*bytes)?;
    let mut functions: Vec<(u64, u64)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| match symbol.flags() {
            object::SymbolFlags::Elf { st_info, .. } => {
                matches!(st_info.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC)
                    && symbol.section_index().is_some()
            }
            _ => false,
        })
        .map(|symbol| (symbol.address(), symbol.size()))
        .filter(|(_, size)| *size > 1)
        .collect();
    functions.sort_unstable();
    functions.dedup();
    if functions.is_empty() {
        return Ok(Vec::new());
    }
    let stubs: Vec<(u64, u64)> = file
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt")))
        .map(|section| (section.address(), section.size()))
        .filter(|(_, size)| *size > 32)
        .collect();
    let gaps = gaps(&functions);
    let mut seen = HashSet::new();
    let mut frames = Vec::new();
    for number_of_frame in 0..count {
        let (class, ranges) = match number_of_frame % 20 {
            7 if !functions_only && !stubs.is_empty() => (Class::Stub, &stubs),
            13 if !functions_only && !gaps.is_empty() => (Class::Gap, &gaps),
            _ => (Class::Function, &functions),
        };
        for _ in 0..100 {
            let length = u64::try_from(ranges.len())?;
            let Some(&(start, size)) = ranges.get(usize::try_from(random.below(length))?) else {
                break;
            };
            // A return address: the byte before it lies in the range.
            let svma = start + 1 + random.below(size);
            if seen.insert(svma) {
                let address = svma.wrapping_add(bias);
                frames.push(Frame { address, class, module: number });
                break;
            }
        }
    }
    Ok(frames)
}

/// What lies between functions, up to 4 KiB each: more is between sections.
fn gaps(functions: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut reached = 0;
    for &(start, size) in functions {
        if reached > 0 && start > reached && start - reached < 4096 {
            gaps.push((reached, start - reached));
        }
        reached = reached.max(start.saturating_add(size));
    }
    gaps
}
