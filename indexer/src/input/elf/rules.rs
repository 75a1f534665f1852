//! Rules that depend on the machine or the kind of file, one function each.
//!
//! In: what one symbol says. Out: whether it is noise, or what its address
//! really is. Which symbol wins an address is `normalise`'s question.

use object::elf;

use super::header::File;

/// True for the labels with which assemblers mark code and data for
/// disassemblers. Asked only for `STT_NOTYPE` symbols: a function that is
/// called `$d` is a function.
///
/// Source: ELF for the Arm Architecture, "Mapping symbols"; the same chapter
/// for `AArch64`; RISC-V ELF psABI, "Mapping symbols" (`$x` may carry an ISA).
pub(super) fn is_mapping_symbol(machine: elf::Machine, name: &[u8]) -> bool {
    let Some((b'$', rest)) = name.split_first().map(|(&first, rest)| (first, rest)) else {
        return false;
    };
    let Some((&letter, rest)) = rest.split_first() else { return false };
    let exact_or_dot = rest.is_empty() || rest.starts_with(b".");
    match machine {
        elf::EM_ARM => matches!(letter, b'a' | b'd' | b't') && exact_or_dot,
        elf::EM_AARCH64 => matches!(letter, b'd' | b'x') && exact_or_dot,
        elf::EM_RISCV => matches!(letter, b'd' | b'x'),
        _ => false,
    }
}

/// The address of a function without the bit that says which instruction set
/// it is in: Thumb (ARM), MIPS16 and microMIPS.
pub(super) fn function_address(machine: elf::Machine, other: u8, value: u64) -> u64 {
    const STO_MIPS_ISA: u8 = 0xc0;
    const STO_MICROMIPS: u8 = 0x80;
    const STO_MIPS16: u8 = 0xf0;
    let compressed = match machine {
        elf::EM_ARM => true,
        elf::EM_MIPS | elf::EM_MIPS_RS3_LE => {
            other & STO_MIPS_ISA == STO_MICROMIPS || other & STO_MIPS16 == STO_MIPS16
        }
        _ => false,
    };
    if compressed { value & !1 } else { value }
}

/// True when function symbols name descriptors in `.opd`, not code
/// (64-bit PowerPC, ELF version 1).
pub(super) fn has_function_descriptors(file: &File<'_>) -> bool {
    file.machine == elf::EM_PPC64 && matches!(file.flags & elf::EF_PPC64_ABI, 0 | 1)
}

/// True for the kernel and its modules.
pub(super) fn is_kernel_file(file: &File<'_>) -> bool {
    file.sections.iter().any(|section| {
        matches!(section.name, b"__ksymtab" | b".modinfo" | b".gnu.linkonce.this_module")
    })
}

/// True for the template of per-CPU data, whose addresses are offsets into
/// each CPU's copy. Asked only for kernel files.
pub(super) fn is_percpu_section(name: &[u8]) -> bool {
    name.starts_with(b".data..percpu") || name == b".data.percpu"
}

/// True for labels the assembler should have kept to itself. Asked only for
/// kernel files, whose assembly leaves thousands of them.
pub(super) fn is_local_label(name: &[u8]) -> bool {
    name.starts_with(b".L")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_symbols_only_on_their_machines() {
        for name in ["$a", "$d", "$t", "$d.realdata", "$t.7"] {
            assert!(is_mapping_symbol(elf::EM_ARM, name.as_bytes()), "{name}");
        }
        for name in ["$x", "$d", "$x.1"] {
            assert!(is_mapping_symbol(elf::EM_AARCH64, name.as_bytes()), "{name}");
        }
        for name in ["$x", "$d", "$xrv64i2p1_m2p0", "$d.1"] {
            assert!(is_mapping_symbol(elf::EM_RISCV, name.as_bytes()), "{name}");
        }
        for name in ["", "$", "a", "$x", "$abc", "$data", "$b"] {
            assert!(!is_mapping_symbol(elf::EM_ARM, name.as_bytes()), "{name}");
        }
        assert!(!is_mapping_symbol(elf::EM_AARCH64, b"$t"));
        assert!(!is_mapping_symbol(elf::EM_X86_64, b"$d"));
    }

    #[test]
    fn instruction_set_bits_are_cleared_for_functions() {
        assert_eq!(function_address(elf::EM_ARM, 0, 0x8001), 0x8000);
        assert_eq!(function_address(elf::EM_ARM, 0, 0x8000), 0x8000);
        assert_eq!(function_address(elf::EM_X86_64, 0, 0x8001), 0x8001);
        assert_eq!(function_address(elf::EM_MIPS, 0x80, 0x8001), 0x8000);
        assert_eq!(function_address(elf::EM_MIPS, 0xf0, 0x8001), 0x8000);
        assert_eq!(function_address(elf::EM_MIPS, 0, 0x8001), 0x8001);
    }

    #[test]
    fn percpu_sections() {
        assert!(is_percpu_section(b".data..percpu"));
        assert!(is_percpu_section(b".data..percpu..page_aligned"));
        assert!(!is_percpu_section(b".data"));
    }

    #[test]
    fn local_labels() {
        assert!(is_local_label(b".Lfoo"));
        assert!(!is_local_label(b"L1"));
        assert!(!is_local_label(b"foo.Lbar"));
    }
}
