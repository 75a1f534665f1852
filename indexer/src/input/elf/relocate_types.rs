//! Relocation types that debug sections have, by machine.
//!
//! In: a machine and a type's number. Out: what it does to its place, as data.
//! Types for code are not here: debug sections hold none.

use object::elf::{self, RelocationType};

/// What a relocation does to its place; the number is the place's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The value is stored.
    Set(u8),
    /// The value is added to what is there.
    Add(u8),
    /// The value is subtracted from what is there.
    Subtract(u8),
    /// The low six bits of a byte: stored.
    SetSix,
    /// The low six bits of a byte: added to.
    AddSix,
    /// The low six bits of a byte: subtracted from.
    SubtractSix,
    /// A ULEB128, its length kept: stored.
    SetUleb,
    /// A ULEB128, its length kept: added to.
    AddUleb,
    /// A ULEB128, its length kept: subtracted from.
    SubtractUleb,
    /// Nothing that lines or inlines need: thread-local offsets, hints for the linker.
    Nothing,
}

/// What a relocation of that type does; `None` for a type not known here.
///
/// Source: the processor supplements of the ELF specification.
pub(super) fn effect(machine: elf::Machine, kind: RelocationType) -> Option<Effect> {
    // Type 0 is "none" on every machine.
    if kind.0 == 0 {
        return Some(Effect::Nothing);
    }
    match machine {
        elf::EM_X86_64 => x86_64(kind),
        elf::EM_386 | elf::EM_IAMCU => i386(kind),
        elf::EM_AARCH64 => aarch64(kind),
        elf::EM_ARM => arm(kind),
        elf::EM_RISCV => riscv(kind),
        elf::EM_LOONGARCH => loongarch(kind),
        elf::EM_PPC64 => ppc64(kind),
        elf::EM_PPC => ppc(kind),
        elf::EM_S390 => s390(kind),
        elf::EM_MIPS | elf::EM_MIPS_RS3_LE => mips(kind),
        elf::EM_SPARC | elf::EM_SPARC32PLUS | elf::EM_SPARCV9 => sparc(kind),
        _ => None,
    }
}

fn x86_64(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_X86_64_64 => Effect::Set(8),
        elf::R_X86_64_32 | elf::R_X86_64_32S => Effect::Set(4),
        elf::R_X86_64_16 => Effect::Set(2),
        elf::R_X86_64_8 => Effect::Set(1),
        elf::R_X86_64_DTPOFF32 | elf::R_X86_64_DTPOFF64 => Effect::Nothing,
        _ => return None,
    })
}

fn i386(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_386_32 => Effect::Set(4),
        elf::R_386_16 => Effect::Set(2),
        elf::R_386_8 => Effect::Set(1),
        elf::R_386_TLS_LDO_32 | elf::R_386_TLS_DTPOFF32 => Effect::Nothing,
        _ => return None,
    })
}

fn aarch64(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_AARCH64_ABS64 => Effect::Set(8),
        elf::R_AARCH64_ABS32 | elf::R_AARCH64_P32_ABS32 => Effect::Set(4),
        elf::R_AARCH64_ABS16 => Effect::Set(2),
        elf::R_AARCH64_TLS_DTPREL => Effect::Nothing,
        _ => return None,
    })
}

fn arm(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_ARM_ABS32 => Effect::Set(4),
        elf::R_ARM_ABS16 => Effect::Set(2),
        elf::R_ARM_ABS8 => Effect::Set(1),
        elf::R_ARM_TLS_LDO32 | elf::R_ARM_TLS_DTPOFF32 => Effect::Nothing,
        _ => return None,
    })
}

fn riscv(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_RISCV_64 => Effect::Set(8),
        elf::R_RISCV_32 | elf::R_RISCV_SET32 => Effect::Set(4),
        elf::R_RISCV_SET16 => Effect::Set(2),
        elf::R_RISCV_SET8 => Effect::Set(1),
        elf::R_RISCV_SET6 => Effect::SetSix,
        elf::R_RISCV_ADD64 => Effect::Add(8),
        elf::R_RISCV_ADD32 => Effect::Add(4),
        elf::R_RISCV_ADD16 => Effect::Add(2),
        elf::R_RISCV_ADD8 => Effect::Add(1),
        elf::R_RISCV_SUB64 => Effect::Subtract(8),
        elf::R_RISCV_SUB32 => Effect::Subtract(4),
        elf::R_RISCV_SUB16 => Effect::Subtract(2),
        elf::R_RISCV_SUB8 => Effect::Subtract(1),
        elf::R_RISCV_SUB6 => Effect::SubtractSix,
        elf::R_RISCV_SET_ULEB128 => Effect::SetUleb,
        elf::R_RISCV_SUB_ULEB128 => Effect::SubtractUleb,
        elf::R_RISCV_TLS_DTPREL32
        | elf::R_RISCV_TLS_DTPREL64
        | elf::R_RISCV_RELAX
        | elf::R_RISCV_ALIGN => Effect::Nothing,
        _ => return None,
    })
}

fn loongarch(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_LARCH_64 => Effect::Set(8),
        elf::R_LARCH_32 => Effect::Set(4),
        elf::R_LARCH_ADD64 => Effect::Add(8),
        elf::R_LARCH_ADD32 => Effect::Add(4),
        elf::R_LARCH_ADD24 => Effect::Add(3),
        elf::R_LARCH_ADD16 => Effect::Add(2),
        elf::R_LARCH_ADD8 => Effect::Add(1),
        elf::R_LARCH_ADD6 => Effect::AddSix,
        elf::R_LARCH_SUB64 => Effect::Subtract(8),
        elf::R_LARCH_SUB32 => Effect::Subtract(4),
        elf::R_LARCH_SUB24 => Effect::Subtract(3),
        elf::R_LARCH_SUB16 => Effect::Subtract(2),
        elf::R_LARCH_SUB8 => Effect::Subtract(1),
        elf::R_LARCH_SUB6 => Effect::SubtractSix,
        elf::R_LARCH_ADD_ULEB128 => Effect::AddUleb,
        elf::R_LARCH_SUB_ULEB128 => Effect::SubtractUleb,
        elf::R_LARCH_TLS_DTPREL32
        | elf::R_LARCH_TLS_DTPREL64
        | elf::R_LARCH_RELAX
        | elf::R_LARCH_ALIGN => Effect::Nothing,
        _ => return None,
    })
}

fn ppc64(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_PPC64_ADDR64 | elf::R_PPC64_UADDR64 => Effect::Set(8),
        elf::R_PPC64_ADDR32 | elf::R_PPC64_UADDR32 => Effect::Set(4),
        elf::R_PPC64_ADDR16 | elf::R_PPC64_UADDR16 => Effect::Set(2),
        elf::R_PPC64_DTPREL64 => Effect::Nothing,
        _ => return None,
    })
}

fn ppc(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_PPC_ADDR32 | elf::R_PPC_UADDR32 => Effect::Set(4),
        elf::R_PPC_ADDR16 | elf::R_PPC_UADDR16 => Effect::Set(2),
        elf::R_PPC_DTPREL32 => Effect::Nothing,
        _ => return None,
    })
}

fn s390(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_390_64 => Effect::Set(8),
        elf::R_390_32 => Effect::Set(4),
        elf::R_390_16 => Effect::Set(2),
        elf::R_390_8 => Effect::Set(1),
        elf::R_390_TLS_LDO32 | elf::R_390_TLS_LDO64 => Effect::Nothing,
        _ => return None,
    })
}

/// A 64-bit MIPS record holds three types; debug sections use the first.
fn mips(kind: RelocationType) -> Option<Effect> {
    Some(match kind {
        elf::R_MIPS_64 => Effect::Set(8),
        elf::R_MIPS_32 => Effect::Set(4),
        elf::R_MIPS_TLS_DTPREL32 | elf::R_MIPS_TLS_DTPREL64 => Effect::Nothing,
        _ => return None,
    })
}

/// The type is the low byte; what is above it is data of other types.
fn sparc(kind: RelocationType) -> Option<Effect> {
    Some(match RelocationType(kind.0 & 0xff) {
        elf::R_SPARC_64 | elf::R_SPARC_UA64 => Effect::Set(8),
        elf::R_SPARC_32 | elf::R_SPARC_UA32 => Effect::Set(4),
        elf::R_SPARC_16 | elf::R_SPARC_UA16 => Effect::Set(2),
        elf::R_SPARC_8 => Effect::Set(1),
        elf::R_SPARC_TLS_DTPOFF32 | elf::R_SPARC_TLS_DTPOFF64 => Effect::Nothing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What compilers write into `.debug_info` for an address and for an offset.
    #[test]
    fn addresses_and_offsets_on_every_machine() {
        for (machine, address, offset, width) in [
            (elf::EM_X86_64, 1, 10, 8),
            (elf::EM_386, 1, 1, 4),
            (elf::EM_AARCH64, 257, 258, 8),
            (elf::EM_ARM, 2, 2, 4),
            (elf::EM_RISCV, 2, 1, 8),
            (elf::EM_LOONGARCH, 2, 1, 8),
            (elf::EM_PPC64, 38, 1, 8),
            (elf::EM_PPC, 1, 1, 4),
            (elf::EM_S390, 22, 4, 8),
            (elf::EM_MIPS, 18, 2, 8),
            (elf::EM_SPARCV9, 54, 23, 8),
        ] {
            let of = |kind| effect(machine, RelocationType(kind));
            assert_eq!(of(address), Some(Effect::Set(width)), "{machine:?}");
            assert_eq!(of(offset), Some(Effect::Set(4)), "{machine:?}");
            assert_eq!(of(0), Some(Effect::Nothing), "{machine:?}");
            assert_eq!(of(250), None, "{machine:?}");
        }
        assert_eq!(effect(elf::EM_NONE, RelocationType(1)), None);
    }
}
