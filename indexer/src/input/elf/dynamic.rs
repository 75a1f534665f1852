//! Symbol tables by `PT_DYNAMIC`, for files without section headers.
//!
//! In: the dynamic segment. Out: the same [`Table`] that a section would give.
//! The number of symbols comes from a hash table and is bounded by the file.

use object::elf;
use object::endian::Endianness;
use object::read::elf::{Dyn as _, FileHeader};

use super::bytes;
use super::header::{File, with_class};
use super::symbols::{Table, record_size};
use super::versions::VersionTables;
use crate::model::{Report, Source};

/// The dynamic entries that matter here: svmas, sizes as stated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dynamic {
    symbols: Option<u64>,
    strings: Option<u64>,
    strings_size: Option<u64>,
    hash: Option<u64>,
    gnu_hash: Option<u64>,
    versions: Option<u64>,
    defined: Option<u64>,
    needed: Option<u64>,
    /// `DT_PLTGOT`, what 32-bit x86 stubs are relative to.
    pub(super) plt_got: Option<u64>,
}

impl Dynamic {
    /// Reads the dynamic segment, if there is one with bytes.
    pub(super) fn read(file: &File<'_>) -> Option<Self> {
        if file.is_debug_only() || file.is_relocatable() {
            return None;
        }
        let program = file.programs.iter().find(|program| program.kind == elf::PT_DYNAMIC)?;
        let entries = bytes::part_there(file.data, program.offset, program.file_size);
        with_class!(file.is_64, Elf => Some(Self::read_entries::<Elf>(entries, file.endian)))
    }

    fn read_entries<Elf: FileHeader<Endian = Endianness>>(
        entries: &[u8],
        endian: Endianness,
    ) -> Self {
        let mut found = Self::default();
        for entry in entries.chunks_exact(std::mem::size_of::<Elf::Dyn>()) {
            let Some(entry) = bytes::record::<Elf::Dyn>(entry) else { break };
            let value = Some(entry.d_val(endian).into());
            match entry.d_tag(endian) {
                elf::DT_NULL => break,
                elf::DT_SYMTAB => found.symbols = value,
                elf::DT_STRTAB => found.strings = value,
                elf::DT_STRSZ => found.strings_size = value,
                elf::DT_HASH => found.hash = value,
                elf::DT_GNU_HASH => found.gnu_hash = value,
                elf::DT_VERSYM => found.versions = value,
                elf::DT_VERDEF => found.defined = value,
                elf::DT_VERNEED => found.needed = value,
                elf::DT_PLTGOT => found.plt_got = value,
                _ => {}
            }
        }
        found
    }

    /// The dynamic symbol table.
    pub(super) fn table<'data>(
        &self,
        file: &File<'data>,
        report: &mut Report,
    ) -> Option<Table<'data>> {
        let (symbols_at, strings_at) = (self.symbols?, self.strings?);
        let (Some(symbols), Some(strings)) = (file.data_at(symbols_at), self.string_table(file))
        else {
            report.warn(format!(
                "dynamic segment: expected symbols at {symbols_at:#x} and their names at {strings_at:#x}, found no segment that holds them; dropped the table"
            ));
            return None;
        };
        let record = record_size(file);
        let count = self.hash_count(file).or_else(|| self.gnu_hash_count(file));
        let count = count.or_else(|| {
            report.warn("dynamic segment: expected a hash table to count the symbols by, found none; read them up to the next table");
            self.next_table(symbols_at)?.checked_sub(symbols_at)?.checked_div(record)
        })?;
        let wanted = count.saturating_mul(record);
        let entries = bytes::part_there(symbols, 0, wanted);
        if bytes::length(entries) < wanted {
            report.warn(format!(
                "dynamic segment: expected {count} symbols by its hash table, found room for {}; kept those",
                bytes::length(entries).checked_div(record).unwrap_or(0)
            ));
        }
        let versions = self.versions.and_then(|at| file.data_at(at)).unwrap_or(&[]);
        Some(Table { entries, strings, extended: &[], versions, source: Source::Dynsym })
    }

    /// Where the first other table after `address` begins.
    fn next_table(&self, address: u64) -> Option<u64> {
        let tables =
            [self.strings, self.hash, self.gnu_hash, self.versions, self.defined, self.needed];
        tables.into_iter().flatten().filter(|&table| table > address).min()
    }

    /// The version tables.
    pub(super) fn versions<'data>(&self, file: &File<'data>) -> VersionTables<'data> {
        let strings = self.string_table(file).unwrap_or(&[]);
        let table = |at: Option<u64>| (at.and_then(|at| file.data_at(at)).unwrap_or(&[]), strings);
        VersionTables { defined: table(self.defined), needed: table(self.needed) }
    }

    fn string_table<'data>(&self, file: &File<'data>) -> Option<&'data [u8]> {
        let bytes = file.data_at(self.strings?)?;
        Some(bytes::part_there(bytes, 0, self.strings_size.unwrap_or(u64::MAX)))
    }

    /// Symbols by `DT_HASH`: its second word.
    fn hash_count(&self, file: &File<'_>) -> Option<u64> {
        let table = file.data_at(self.hash?)?;
        // The 64-bit s390 and Alpha ABIs have 64-bit hash words.
        let wide = file.is_64 && matches!(file.machine, elf::EM_S390 | elf::EM_ALPHA);
        if wide {
            bytes::u64_at(table, 8, file.endian)
        } else {
            bytes::u32_at(table, 4, file.endian).map(u64::from)
        }
    }

    /// Symbols by `DT_GNU_HASH`: one past the end of the chain that starts
    /// last. Each word is read at most once.
    fn gnu_hash_count(&self, file: &File<'_>) -> Option<u64> {
        const HEADER: u64 = 16;
        let table = file.data_at(self.gnu_hash?)?;
        let word = |at| bytes::u32_at(table, at, file.endian).map(u64::from);
        let (buckets, first, bloom) = (word(0)?, word(4)?, word(8)?);
        let buckets_at = bloom.checked_mul(file.word_size())?.checked_add(HEADER)?;
        let chains_at = buckets_at.checked_add(buckets.checked_mul(4)?)?;
        let mut last = 0;
        for bucket in bytes::part(table, buckets_at, buckets.checked_mul(4)?)?.chunks_exact(4) {
            last = last.max(bytes::u32_at(bucket, 0, file.endian).map_or(0, u64::from));
        }
        let Some(skip) = last.checked_sub(first).filter(|_| last != 0) else {
            // Nothing is exported: only the symbols before the hashed ones.
            return Some(first);
        };
        let chain = bytes::part_there(
            table,
            chains_at.checked_add(skip.checked_mul(4)?)?,
            bytes::length(table),
        );
        for link in chain.chunks_exact(4) {
            last = last.checked_add(1)?;
            if bytes::u32_at(link, 0, file.endian)? & 1 != 0 {
                return Some(last);
            }
        }
        None
    }
}
