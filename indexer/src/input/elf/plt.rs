//! PLT stubs, which have no symbols of their own: `name@plt`.
//!
//! In: relocations of GOT slots, and the code of the stubs. Out: one symbol per
//! stub whose slot has a named relocation; the rest of a PLT section (PLT0,
//! resolver pushes, nameless stubs) is a hole. Nothing is assumed about the
//! order or the size of stubs: each is decoded for the slot it jumps through.

use object::elf;
use object::endian::Endianness;
use object::read::elf::{FileHeader, Rel as _, Rela as _, Sym as _};

use super::bytes::{self, Budget, Strings};
use super::dynamic::Dynamic;
use super::header::{File, Section, with_class};
use super::layout::Place;
use super::stubs::{Code, Stub};
use super::symbols::record_size;
use crate::model::{Binding, Image, Kind, NO_VERSION, Source, Store, Symbol};

/// What is added to a function's name for its stub.
const SUFFIX: &[u8] = b"@plt";

/// Adds the stubs of `file` to `image`.
pub(super) fn read<'store>(
    file: &File<'store>,
    places: &[Place],
    dynamic: Option<&Dynamic>,
    store: &'store Store,
    image: &mut Image<'store>,
) {
    let Some(types) = SlotTypes::of(file.machine) else { return };
    let sections = plt_sections(file);
    if sections.is_empty() || file.is_relocatable() {
        return;
    }
    let slots = with_class!(file.is_64, Elf => slots::<Elf>(file, types));
    let got = dynamic.and_then(|dynamic| dynamic.plt_got);
    let mut found: Vec<(Stub, u32, usize)> = Vec::new();
    let mut names: Vec<u8> = Vec::new();
    let mut budget = Budget::for_file(file.data, 2);
    for (number, section) in sections {
        let Some(&Place::Section(index)) = places.get(number) else { continue };
        let data = file.section_data_there(section);
        if !budget.take(bytes::length(data)) {
            break;
        }
        let code = Code { machine: file.machine, data, address: section.address, got };
        let little = !file.is_big_endian() || file.flags & elf::EF_ARM_BE8.0 != 0;
        let mut stubs = code.stubs(little, |slot| slots.find(slot));
        set_sizes(&mut stubs, section);
        add_holes(&stubs, section, &mut image.holes);
        for stub in stubs {
            let Some(name) = slots.name(stub.symbol) else { continue };
            // Many stubs may claim one long name; no real file comes near this.
            if !budget.take(bytes::length(name)) {
                image.report.skip("PLT stub beyond the limit for names");
                continue;
            }
            names.extend_from_slice(name);
            names.extend_from_slice(SUFFIX);
            found.push((stub, index, name.len().saturating_add(SUFFIX.len())));
        }
    }
    let mut rest = store.keep(names);
    for (order, (stub, section, length)) in (0u32..).zip(found) {
        let Some((name, after)) = rest.split_at_checked(length) else { break };
        rest = after;
        image.symbols.push(Symbol {
            name,
            address: stub.start,
            size: stub.size,
            section,
            order,
            version: NO_VERSION,
            kind: Kind::Function,
            binding: Binding::Local,
            source: Source::Plt,
            default_version: false,
        });
    }
}

/// Sections that hold stubs, by name: nothing else tells them from other code.
fn plt_sections<'a, 'data>(file: &'a File<'data>) -> Vec<(usize, &'a Section<'data>)> {
    file.sections
        .iter()
        .enumerate()
        .filter(|(_, section)| {
            matches!(section.name, b".plt" | b".plt.sec" | b".plt.got" | b".plt.bnd")
                && section.is_allocated()
                && section.has(elf::SHF_EXECINSTR)
        })
        .collect()
}

/// Sets each stub's size: up to the next one, but not over more than the
/// section's entry size (or the usual distance) says.
fn set_sizes(stubs: &mut [Stub], section: &Section<'_>) {
    let end = section.address.saturating_add(section.size);
    let mut usual = u64::MAX;
    let mut next = end;
    for stub in stubs.iter_mut().rev() {
        stub.size = next.saturating_sub(stub.start);
        if next != end {
            usual = usual.min(stub.size);
        }
        next = stub.start;
    }
    if (8..=64).contains(&section.entry_size) {
        usual = section.entry_size;
    }
    for stub in stubs {
        stub.size = stub.size.min(usual);
    }
}

/// What of the section belongs to no stub.
fn add_holes(stubs: &[Stub], section: &Section<'_>, holes: &mut Vec<(u64, u64)>) {
    let end = section.address.saturating_add(section.size);
    let mut from = section.address;
    for stub in stubs {
        if stub.start > from {
            holes.push((from, stub.start.saturating_sub(from)));
        }
        from = stub.start.saturating_add(stub.size);
    }
    if end > from {
        holes.push((from, end.saturating_sub(from)));
    }
}

/// Relocation types that fill a GOT slot with a function's address.
#[derive(Clone, Copy, Debug)]
struct SlotTypes {
    jump_slot: u32,
    glob_dat: u32,
}

impl SlotTypes {
    fn of(machine: elf::Machine) -> Option<Self> {
        let (jump_slot, glob_dat) = match machine {
            elf::EM_X86_64 => (elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT),
            elf::EM_386 => (elf::R_386_JMP_SLOT, elf::R_386_GLOB_DAT),
            elf::EM_AARCH64 => (elf::R_AARCH64_JUMP_SLOT, elf::R_AARCH64_GLOB_DAT),
            elf::EM_ARM => (elf::R_ARM_JUMP_SLOT, elf::R_ARM_GLOB_DAT),
            elf::EM_RISCV => (elf::R_RISCV_JUMP_SLOT, elf::R_RISCV_JUMP_SLOT),
            _ => return None,
        };
        Some(Self { jump_slot: jump_slot.0, glob_dat: glob_dat.0 })
    }
}

/// GOT slots with the name that fills each.
struct Slots<'data> {
    /// (slot, index into `names`), sorted.
    by_address: Vec<(u64, u32)>,
    names: Vec<&'data [u8]>,
}

impl<'data> Slots<'data> {
    fn find(&self, slot: u64) -> Option<u32> {
        let at = self.by_address.partition_point(|&(address, _)| address < slot);
        self.by_address.get(at).filter(|&&(address, _)| address == slot).map(|&(_, name)| name)
    }

    fn name(&self, index: u32) -> Option<&'data [u8]> {
        self.names.get(usize::try_from(index).ok()?).copied()
    }
}

fn slots<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &File<'data>,
    types: SlotTypes,
) -> Slots<'data> {
    let mut slots = Slots { by_address: Vec::new(), names: Vec::new() };
    let mut budget = Budget::for_file(file.data, 1);
    for section in file.sections.iter().filter(|section| section.is_allocated()) {
        if !matches!(section.kind, elf::SHT_REL | elf::SHT_RELA) {
            continue;
        }
        let Some(symbols) = file.section(section.link).filter(|s| s.kind == elf::SHT_DYNSYM) else {
            continue;
        };
        let records = file.section_data_there(section);
        if !budget.take(bytes::length(records)) {
            break;
        }
        let entries = file.section_data_there(symbols);
        let strings =
            file.section(symbols.link).map_or(&[][..], |strings| file.section_data_there(strings));
        let mut strings = Strings::new(strings, bytes::length(records) / 16);
        let mut add = |slot: u64, symbol: u32, kind: u32| -> Option<()> {
            if kind != types.jump_slot && kind != types.glob_dat {
                return None;
            }
            let at = u64::from(symbol).checked_mul(record_size(file))?;
            let record = bytes::record_at::<Elf::Sym>(entries, at)?;
            let name = strings.get(u64::from(record.st_name(file.endian))).ok()?;
            if !name.is_empty() {
                slots.by_address.push((slot, u32::try_from(slots.names.len()).ok()?));
                slots.names.push(name);
            }
            Some(())
        };
        if section.kind == elf::SHT_RELA {
            for record in records.chunks_exact(std::mem::size_of::<Elf::Rela>()) {
                let Some(r) = bytes::record::<Elf::Rela>(record) else { break };
                let symbol = r.r_sym(file.endian, false);
                add(r.r_offset(file.endian).into(), symbol, r.r_type(file.endian, false).0);
            }
        } else {
            for record in records.chunks_exact(std::mem::size_of::<Elf::Rel>()) {
                let Some(r) = bytes::record::<Elf::Rel>(record) else { break };
                add(r.r_offset(file.endian).into(), r.r_sym(file.endian), r.r_type(file.endian).0);
            }
        }
    }
    slots.by_address.sort_unstable();
    slots
}
