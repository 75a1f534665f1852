//! In: the bytes of a binary. Out: which symbol is right for an address, by the slow and obvious way.
//! Reads the tables through `object` but filters them itself: `is_definition` loses IFUNC symbols.
//! Never: reads companion files, `.gnu_debugdata` or relocations; addresses those would decide are `Unclear`.

use object::{
    Architecture, BinaryFormat, File, Object, ObjectKind, ObjectSection, ObjectSegment,
    ObjectSymbol, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolSection, elf,
};

use crate::Result;

/// A named stretch of addresses.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub start: u64,
    /// First address after it, clamped to its section. Equal to `start` for a label inside a sized symbol.
    pub end: u64,
    pub name: &'a [u8],
    pub code: bool,
    pub sized: bool,
}

/// A section that is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub start: u64,
    pub end: u64,
    pub exec: bool,
    /// Holds stubs that get names only from relocations.
    pub stubs: bool,
}

/// The right answer for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The symbol starts here; each of its names will do.
    Hit(u64),
    Miss,
    /// Rules differ; not a fair question.
    Unclear,
}

/// Symbols by start, longest first; sections by start.
pub struct Truth<'a> {
    symbols: Vec<Symbol<'a>>,
    /// `reach[i]`: largest `end` among `symbols[..=i]`.
    reach: Vec<u64>,
    sections: Vec<Section>,
    base: u64,
    underscore: bool,
    hidden_symbols: bool,
}

impl<'a> Truth<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let file = File::parse(bytes)?;
        if file.kind() == ObjectKind::Relocatable {
            return Err(
                "relocatable files have no addresses; expected an executable or a shared object"
                    .into(),
            );
        }
        let sections = sections(&file);
        let mut symbols: Vec<Symbol<'a>> = Vec::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            symbols.extend(keep(&file, &sections, &symbol));
        }
        let key = |symbol: &Symbol<'a>| (symbol.start, std::cmp::Reverse(symbol.end), symbol.name);
        symbols.sort_unstable_by_key(key);
        symbols.dedup_by_key(|symbol| key(symbol));
        infer_ends(&mut symbols, &sections);
        let reach = symbols
            .iter()
            .scan(0, |reach, symbol| {
                *reach = symbol.end.max(*reach);
                Some(*reach)
            })
            .collect();
        let hidden_symbols = file.section_by_name(".gnu_debugdata").is_some();
        Ok(Self {
            symbols,
            reach,
            sections,
            base: base(&file),
            underscore: file.format() == BinaryFormat::MachO,
            hidden_symbols,
        })
    }

    pub fn symbols(&self) -> &[Symbol<'a>] {
        &self.symbols
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Svma of the first loaded segment.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The section that holds `addr`.
    pub fn section(&self, addr: u64) -> Option<&Section> {
        holding(&self.sections, addr)
    }

    /// The innermost symbol that covers `addr`: of those, the one that starts last.
    pub fn answer(&self, addr: u64) -> Answer {
        let after = self.symbols.partition_point(|symbol| symbol.start <= addr);
        let before = self.symbols.iter().zip(&self.reach).take(after).rev();
        for (symbol, &reach) in before {
            if symbol.end > addr {
                return Answer::Hit(symbol.start);
            }
            if reach <= addr {
                break;
            }
        }
        let Some(section) = self.section(addr) else {
            return Answer::Miss;
        };
        let last = after.checked_sub(1).and_then(|last| self.symbols.get(last));
        let label = last.is_some_and(|last| !last.sized && last.start >= section.start);
        if label || section.stubs || self.hidden_symbols {
            Answer::Unclear
        } else {
            Answer::Miss
        }
    }

    /// True when `name` is one of the names of the symbol at `start`.
    pub fn is_name(&self, start: u64, name: &[u8]) -> bool {
        let first = self.symbols.partition_point(|symbol| symbol.start < start);
        let names = self
            .symbols
            .iter()
            .skip(first)
            .take_while(|symbol| symbol.start == start);
        names
            .map(|symbol| symbol.name)
            .any(|own| own == name || (self.underscore && own.strip_prefix(b"_") == Some(name)))
    }

    /// Distinct starts, (start, name) pairs, and bytes of the distinct names.
    pub fn counts(&self) -> crate::contenders::Inventory {
        crate::contenders::Inventory::count(
            self.symbols
                .iter()
                .map(|symbol| (symbol.start, symbol.name)),
        )
    }
}

fn holding(sections: &[Section], addr: u64) -> Option<&Section> {
    let after = sections.partition_point(|section| section.start <= addr);
    sections
        .get(after.checked_sub(1)?)
        .filter(|section| addr < section.end)
}

fn sections(file: &File<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    for section in file.sections() {
        let (loaded, exec) = match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => {
                let has = |flag| sh_flags.contains(flag);
                (
                    has(elf::SHF_ALLOC) && !has(elf::SHF_TLS),
                    has(elf::SHF_EXECINSTR),
                )
            }
            _ => (
                !matches!(section.kind(), SectionKind::Debug | SectionKind::Metadata),
                section.kind() == SectionKind::Text,
            ),
        };
        let name = section.name().unwrap_or_default();
        let stubs = name.contains("plt") || name.contains("stubs");
        let start = section.address();
        if loaded && section.size() > 0 {
            sections.push(Section {
                start,
                end: start.saturating_add(section.size()),
                exec,
                stubs,
            });
        }
    }
    sections.sort_by_key(|section| section.start);
    sections
}

/// The symbol as an address to name, or `None` when it is not one.
fn keep<'a>(
    file: &File<'a>,
    sections: &[Section],
    symbol: &object::Symbol<'a, '_>,
) -> Option<Symbol<'a>> {
    if matches!(
        symbol.section(),
        SymbolSection::Undefined | SymbolSection::Absolute | SymbolSection::Common
    ) {
        return None;
    }
    let mut start = symbol.address();
    let code = match symbol.flags() {
        SymbolFlags::Elf { st_info, .. } => match st_info.st_type() {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
            elf::STT_OBJECT | elf::STT_NOTYPE => false,
            _ => return None,
        },
        _ => match symbol.kind() {
            SymbolKind::Text => true,
            SymbolKind::Data | SymbolKind::Unknown | SymbolKind::Label => false,
            _ => return None,
        },
    };
    let name = symbol.name_bytes().ok().filter(|name| !name.is_empty())?;
    match file.architecture() {
        Architecture::Arm if code => start &= !1,
        Architecture::Arm
        | Architecture::Aarch64
        | Architecture::Riscv32
        | Architecture::Riscv64
            if name.starts_with(b"$") =>
        {
            return None;
        }
        _ => {}
    }
    if file.format() == BinaryFormat::MachO
        && (name.starts_with(b"ltmp") || !symbol.is_definition())
    {
        return None;
    }
    let section = holding(sections, start)?;
    let end = start.saturating_add(symbol.size()).min(section.end);
    Some(Symbol {
        start,
        end,
        name,
        code,
        sized: symbol.size() > 0,
    })
}

/// Gives symbols of unknown size their reach: to the next start or the end of the section.
/// A label inside a sized symbol gets none; the sized symbol is the answer there.
fn infer_ends(symbols: &mut [Symbol<'_>], sections: &[Section]) {
    let starts: Vec<u64> = symbols.iter().map(|symbol| symbol.start).collect();
    let mut reach = 0;
    for symbol in symbols {
        if symbol.sized {
            reach = symbol.end.max(reach);
        } else if symbol.start >= reach {
            let next = starts.partition_point(|&start| start <= symbol.start);
            let end = holding(sections, symbol.start).map_or(symbol.start, |section| section.end);
            symbol.end = starts.get(next).map_or(end, |&next| next.min(end));
        }
    }
}

fn base(file: &File<'_>) -> u64 {
    let text = file
        .segments()
        .find(|segment| matches!(segment.name(), Ok(Some("__TEXT"))));
    text.or_else(|| file.segments().next())
        .map_or(0, |segment| segment.address())
}
