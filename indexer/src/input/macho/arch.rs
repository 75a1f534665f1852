//! Architecture names: a CPU type and subtype in, the name that `lipo` prints
//! out. Capability bits (the high 8 of a subtype) never take part.

use object::macho::{self, CpuSubtype, CpuType};

/// The usual name: `x86_64`, `arm64`, `arm64e`, `armv7s`…; `unknown` for what has none.
pub(super) fn name(cpu: CpuType, subtype: CpuSubtype) -> &'static str {
    let subtype = subtype.id();
    match cpu {
        macho::CPU_TYPE_X86 => "i386",
        macho::CPU_TYPE_X86_64 if subtype == macho::CPU_SUBTYPE_X86_64_H => "x86_64h",
        macho::CPU_TYPE_X86_64 => "x86_64",
        macho::CPU_TYPE_ARM64 => match subtype {
            macho::CPU_SUBTYPE_ARM64E => "arm64e",
            macho::CPU_SUBTYPE_ARM64_V8 => "arm64v8",
            _ => "arm64",
        },
        macho::CPU_TYPE_ARM64_32 => "arm64_32",
        macho::CPU_TYPE_ARM => match subtype {
            macho::CPU_SUBTYPE_ARM_V4T => "armv4t",
            macho::CPU_SUBTYPE_ARM_V5TEJ => "armv5",
            macho::CPU_SUBTYPE_ARM_XSCALE => "xscale",
            macho::CPU_SUBTYPE_ARM_V6 => "armv6",
            macho::CPU_SUBTYPE_ARM_V6M => "armv6m",
            macho::CPU_SUBTYPE_ARM_V7 => "armv7",
            macho::CPU_SUBTYPE_ARM_V7F => "armv7f",
            macho::CPU_SUBTYPE_ARM_V7S => "armv7s",
            macho::CPU_SUBTYPE_ARM_V7K => "armv7k",
            macho::CPU_SUBTYPE_ARM_V7M => "armv7m",
            macho::CPU_SUBTYPE_ARM_V7EM => "armv7em",
            macho::CPU_SUBTYPE_ARM_V8 => "armv8",
            _ => "arm",
        },
        macho::CPU_TYPE_POWERPC => match subtype {
            macho::CPU_SUBTYPE_POWERPC_750 => "ppc750",
            macho::CPU_SUBTYPE_POWERPC_7400 => "ppc7400",
            macho::CPU_SUBTYPE_POWERPC_7450 => "ppc7450",
            macho::CPU_SUBTYPE_POWERPC_970 => "ppc970",
            _ => "ppc",
        },
        macho::CPU_TYPE_POWERPC64 => "ppc64",
        macho::CPU_TYPE_MC680X0 => "m68k",
        macho::CPU_TYPE_SPARC => "sparc",
        macho::CPU_TYPE_I860 => "i860",
        macho::CPU_TYPE_HPPA => "hppa",
        macho::CPU_TYPE_MC88000 => "m88k",
        _ => "unknown",
    }
}

/// True when a user's name for an architecture means this one. Names from other
/// systems are understood (`aarch64`, `amd64`, `i686`); no name means several.
pub(super) fn matches(wanted: &str, name: &str) -> bool {
    let wanted = match wanted {
        "aarch64" => "arm64",
        "amd64" | "x86-64" => "x86_64",
        "x86" | "i486" | "i586" | "i686" => "i386",
        "powerpc" => "ppc",
        "powerpc64" => "ppc64",
        other => other,
    };
    wanted == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtype_decides_without_its_capability_bits() {
        let arm64 = macho::CPU_TYPE_ARM64;
        assert_eq!(name(arm64, CpuSubtype(0)), "arm64");
        assert_eq!(name(arm64, CpuSubtype(2)), "arm64e");
        assert_eq!(name(arm64, CpuSubtype(0x8000_0002)), "arm64e");
        assert_eq!(name(macho::CPU_TYPE_X86_64, CpuSubtype(0x8000_0003)), "x86_64");
        assert_eq!(name(macho::CPU_TYPE_X86_64, CpuSubtype(8)), "x86_64h");
        assert_eq!(name(macho::CPU_TYPE_ARM64_32, CpuSubtype(1)), "arm64_32");
        assert_eq!(name(macho::CPU_TYPE_ARM, CpuSubtype(11)), "armv7s");
        assert_eq!(name(CpuType(77), CpuSubtype(0)), "unknown");
    }

    #[test]
    fn other_systems_names_are_understood() {
        assert!(matches("aarch64", "arm64"));
        assert!(matches("amd64", "x86_64"));
        assert!(!matches("arm64", "arm64e"));
        assert!(!matches("x86_64", "x86_64h"));
    }
}
