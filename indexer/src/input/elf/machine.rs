//! Names of the machines, as people and other tools write them.
//!
//! In: `e_machine`, class and byte order. Out: [`Machine`]. Nothing here
//! decides how a machine's symbols are read; that is `rules`.

use object::elf;

use super::header::File;
use crate::model::Machine;

/// The machine of a file.
pub(super) fn machine(file: &File<'_>) -> Machine {
    Machine {
        number: u32::from(file.machine.0),
        subtype: 0,
        name: name(file.machine, file.is_64, file.is_big_endian()),
        is_64: file.is_64,
        big_endian: file.is_big_endian(),
    }
}

/// The machine with this number where nothing but the number is known: of the
/// families with both, the 64-bit one.
pub(in crate::input) fn by_number(number: u32, big_endian: bool) -> Machine {
    let machine = elf::Machine(u16::try_from(number).unwrap_or(0));
    let is_64 = !is_32_bit(machine);
    Machine { number, subtype: 0, name: name(machine, is_64, big_endian), is_64, big_endian }
}

fn is_32_bit(machine: elf::Machine) -> bool {
    matches!(
        machine,
        elf::EM_386 | elf::EM_IAMCU | elf::EM_ARM | elf::EM_MIPS | elf::EM_PPC | elf::EM_SPARC
    )
}

fn name(machine: elf::Machine, is_64: bool, big_endian: bool) -> &'static str {
    match machine {
        elf::EM_X86_64 if is_64 => "x86_64",
        elf::EM_X86_64 => "x32",
        elf::EM_386 | elf::EM_IAMCU => "i386",
        elf::EM_AARCH64 if big_endian => "aarch64_be",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_ARM if big_endian => "armeb",
        elf::EM_ARM => "arm",
        elf::EM_RISCV if is_64 => "riscv64",
        elf::EM_RISCV => "riscv32",
        elf::EM_PPC64 if big_endian => "powerpc64",
        elf::EM_PPC64 => "powerpc64le",
        elf::EM_PPC => "powerpc",
        elf::EM_S390 if is_64 => "s390x",
        elf::EM_S390 => "s390",
        elf::EM_MIPS | elf::EM_MIPS_RS3_LE => match (is_64, big_endian) {
            (true, true) => "mips64",
            (true, false) => "mips64el",
            (false, true) => "mips",
            (false, false) => "mipsel",
        },
        elf::EM_LOONGARCH if is_64 => "loongarch64",
        elf::EM_LOONGARCH => "loongarch32",
        elf::EM_SPARC | elf::EM_SPARC32PLUS => "sparc",
        elf::EM_SPARCV9 => "sparc64",
        elf::EM_BPF => "bpf",
        elf::EM_68K => "m68k",
        elf::EM_ALPHA => "alpha",
        elf::EM_PARISC => "hppa",
        elf::EM_IA_64 => "ia64",
        elf::EM_SH => "sh",
        elf::EM_CSKY => "csky",
        elf::EM_XTENSA => "xtensa",
        elf::EM_MSP430 => "msp430",
        elf::EM_AVR => "avr",
        elf::EM_HEXAGON => "hexagon",
        elf::EM_AMDGPU => "amdgpu",
        elf::EM_CUDA => "cuda",
        _ => "unknown",
    }
}
