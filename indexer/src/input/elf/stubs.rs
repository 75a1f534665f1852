//! Decoding of PLT stubs: which GOT slot does this code jump through?
//!
//! In: the code of a PLT section. Out: the stubs whose slot is known, in
//! address order. Only the few instructions that linkers write are known;
//! anything else is skipped.

use object::elf;
use object::endian::Endianness;

use super::bytes;

/// One stub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stub {
    /// Its first address.
    pub(super) start: u64,
    /// Bytes; 0 until they are worked out.
    pub(super) size: u64,
    /// What `find` gave for its slot.
    pub(super) symbol: u32,
}

/// The code of one PLT section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code<'data> {
    /// What it runs on.
    pub(super) machine: elf::Machine,
    /// Its bytes.
    pub(super) data: &'data [u8],
    /// Its address.
    pub(super) address: u64,
    /// `DT_PLTGOT`, for 32-bit x86.
    pub(super) got: Option<u64>,
}

impl Code<'_> {
    /// The stubs whose slot `find` knows. `little`: instruction words are
    /// little-endian (data may be big-endian beside them).
    pub(super) fn stubs(&self, little: bool, find: impl Fn(u64) -> Option<u32>) -> Vec<Stub> {
        let mut stubs = Vec::new();
        match self.machine {
            elf::EM_X86_64 | elf::EM_386 => self.x86(&find, &mut stubs),
            elf::EM_AARCH64 => self.words(Endianness::Little, aarch64, &find, &mut stubs),
            elf::EM_RISCV => self.words(Endianness::Little, riscv, &find, &mut stubs),
            elf::EM_ARM => {
                let endian = if little { Endianness::Little } else { Endianness::Big };
                self.words(endian, arm, &find, &mut stubs);
            }
            _ => {}
        }
        stubs
    }

    /// `jmp *slot`: x86-64 relative to the next instruction, i386 absolute or
    /// relative to `DT_PLTGOT` in `%ebx`.
    fn x86(&self, find: &impl Fn(u64) -> Option<u32>, stubs: &mut Vec<Stub>) {
        const JUMP_SIZE: u64 = 6;
        let is_64 = self.machine == elf::EM_X86_64;
        let mut from = 0u64;
        for at in memchr::memchr_iter(0xff, self.data) {
            let at = u64::try_from(at).unwrap_or(u64::MAX);
            let Some(after) = at.checked_add(JUMP_SIZE).filter(|_| at >= from) else { continue };
            let Some(&[_, mode, a, b, c, d]) = bytes::part(self.data, at, JUMP_SIZE) else { break };
            let displacement = i32::from_le_bytes([a, b, c, d]);
            let slot = match (mode, is_64) {
                (0x25, true) => {
                    let next = self.address.wrapping_add(after);
                    next.wrapping_add_signed(i64::from(displacement))
                }
                (0x25, false) => u64::from(displacement.cast_unsigned()),
                (0xa3, false) => match self.got {
                    Some(got) => got.wrapping_add_signed(i64::from(displacement)) & 0xffff_ffff,
                    None => continue,
                },
                _ => continue,
            };
            if let Some(symbol) = find(slot) {
                let start = self.address.wrapping_add(x86_start(self.data, at));
                stubs.push(Stub { start, size: 0, symbol });
                from = after;
            }
        }
    }

    /// Machines with 4-byte instructions: `decode` looks at the words from
    /// one address on.
    fn words(
        &self,
        endian: Endianness,
        decode: Decoder,
        find: &impl Fn(u64) -> Option<u32>,
        stubs: &mut Vec<Stub>,
    ) {
        let address = self.address;
        let word = |offset: u64| bytes::u32_at(self.data, offset, endian);
        let mut offset = 0u64;
        while offset < bytes::length(self.data) {
            let mut step = 4;
            if let Some(decoded) = decode(&word, offset)
                && let Some(symbol) = find(address.wrapping_add(decoded.slot_from_section(address)))
            {
                let start = address.wrapping_add(offset).wrapping_sub(decoded.prefix);
                stubs.push(Stub { start, size: 0, symbol });
                step = decoded.size;
            }
            offset = offset.saturating_add(step);
        }
    }
}

/// Looks at the instruction words from one offset on; the words are given by
/// their offsets.
type Decoder = fn(&dyn Fn(u64) -> Option<u32>, u64) -> Option<Decoded>;

/// A stub found in words: where it begins and what it jumps through.
struct Decoded {
    /// Bytes of prefix instructions before it.
    prefix: u64,
    /// Bytes of the instructions that were decoded.
    size: u64,
    /// Where the slot's address is counted from: an offset in the section.
    base: u64,
    /// The base is rounded down to its 4 KiB page.
    page: bool,
    /// The slot is this far from there.
    distance: i64,
}

impl Decoded {
    /// The slot as a wrapping distance from the section's address.
    fn slot_from_section(&self, section: u64) -> u64 {
        let mut base = section.wrapping_add(self.base);
        if self.page {
            base &= !0xfff;
        }
        base.wrapping_add_signed(self.distance).wrapping_sub(section)
    }
}

/// Where the stub of the jump at `at` begins: before `bnd`, a load of the
/// index into `%r11d` (mold) and `endbr`.
fn x86_start(data: &[u8], at: u64) -> u64 {
    const BND: u8 = 0xf2;
    let mut start = at;
    let before = |start: u64, size: u64| bytes::part(data, start.checked_sub(size)?, size);
    if before(start, 1) == Some(&[BND]) {
        start = start.saturating_sub(1);
    }
    if before(start, 6).is_some_and(|code| code.starts_with(&[0x41, 0xbb])) {
        start = start.saturating_sub(6);
    }
    if matches!(before(start, 4), Some([0xf3, 0x0f, 0x1e, 0xfa | 0xfb])) {
        start = start.saturating_sub(4);
    }
    start
}

/// `[bti c]; adrp x16, page; ldr x17, [x16, #low]`.
fn aarch64(word: &dyn Fn(u64) -> Option<u32>, at: u64) -> Option<Decoded> {
    const BTI_C: u32 = 0xd503_245f;
    let adrp = word(at)?;
    if adrp & 0x9f00_001f != 0x9000_0010 {
        return None;
    }
    let load = word(at.checked_add(4)?)?;
    let scale = match load & 0xffc0_03ff {
        0xf940_0211 => 3,
        0xb940_0211 => 2,
        _ => return None,
    };
    let pages = (adrp >> 3 & 0x001f_fffc) | (adrp >> 29 & 3);
    let low = i64::from((load >> 10 & 0xfff) << scale);
    let distance = sign_extend(pages, 21).checked_mul(0x1000)?.checked_add(low)?;
    let prefix = if at.checked_sub(4).and_then(word) == Some(BTI_C) { 4 } else { 0 };
    Some(Decoded { prefix, size: 8, base: at, page: true, distance })
}

/// `auipc t3, high; l[wd] t3, low(t3)`.
fn riscv(word: &dyn Fn(u64) -> Option<u32>, at: u64) -> Option<Decoded> {
    let auipc = word(at)?;
    let load = word(at.checked_add(4)?)?;
    if auipc & 0xfff != 0xe17 || !matches!(load & 0xf_ffff, 0xe_3e03 | 0xe_2e03) {
        return None;
    }
    let high = i64::from((auipc & 0xffff_f000).cast_signed());
    let distance = high.checked_add(sign_extend(load >> 20, 12))?;
    Some(Decoded { prefix: 0, size: 8, base: at, page: false, distance })
}

/// `[bx pc; nop]; add ip, pc, #a; add ip, ip, #b…; ldr pc, [ip, #c]!`.
fn arm(word: &dyn Fn(u64) -> Option<u32>, at: u64) -> Option<Decoded> {
    const BX_PC_NOP: u32 = 0x46c0_4778;
    let first = word(at)?;
    if first & 0xffff_f000 != 0xe28f_c000 {
        return None;
    }
    let immediate = |code: u32| i64::from((code & 0xff).rotate_right((code >> 8 & 0xf) << 1));
    let mut distance = immediate(first);
    for index in 1u64..=3 {
        let step = index.checked_mul(4)?;
        let code = word(at.checked_add(step)?)?;
        match code & 0xffff_f000 {
            0xe28c_c000 => distance = distance.checked_add(immediate(code))?,
            0xe5bc_f000 => {
                distance = distance.checked_add(i64::from(code & 0xfff))?;
                let thumb = at.checked_sub(4).and_then(word) == Some(BX_PC_NOP);
                return Some(Decoded {
                    prefix: if thumb { 4 } else { 0 },
                    size: step.checked_add(4)?,
                    // The program counter reads two instructions ahead.
                    base: at.checked_add(8)?,
                    page: false,
                    distance,
                });
            }
            _ => return None,
        }
    }
    None
}

/// The low `bits` of `value` as a signed number.
fn sign_extend(value: u32, bits: u32) -> i64 {
    let shift = 32u32.saturating_sub(bits);
    i64::from(value.wrapping_shl(shift).cast_signed().wrapping_shr(shift))
}
