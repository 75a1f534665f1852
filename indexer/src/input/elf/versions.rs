//! Symbol versions: `.gnu.version`, `.gnu.version_d`, `.gnu.version_r`.
//!
//! In: the three tables. Out: for a dynamic symbol, an index into the image's
//! version names. A damaged chain costs the versions after the damage.

use object::elf;
use object::endian::Endianness;

use super::bytes::{self, Budget, Strings};
use crate::model::{NO_VERSION, Report};

/// Longer version names are damage. Every symbol's stored name repeats its
/// version, so one huge version would multiply with the symbols.
const MAX_NAME: usize = 1024;

/// The version of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// Index into the image's version names.
    pub(super) index: u32,
    /// `name@@version`: what a link without a version gets.
    pub(super) default: bool,
}

/// Version numbers of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    /// By version number: (index into the image's names, defined here).
    numbers: Vec<(u32, bool)>,
}

/// The raw tables: their bytes, and names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VersionTables<'data> {
    /// `.gnu.version_d` and its string table.
    pub(super) defined: (&'data [u8], &'data [u8]),
    /// `.gnu.version_r` and its string table.
    pub(super) needed: (&'data [u8], &'data [u8]),
}

impl Versions {
    /// Reads both chains; adds the names to `names`.
    pub(super) fn read<'data>(
        tables: &VersionTables<'data>,
        endian: Endianness,
        names: &mut Vec<&'data [u8]>,
        report: &mut Report,
    ) -> Self {
        let mut versions = Self::default();
        let whole = versions.read_defined(tables.defined, endian, names, report).is_some();
        if !whole {
            report.warn("version definitions: expected a chain inside .gnu.version_d, found it broken; kept the versions before that");
        }
        let whole = versions.read_needed(tables.needed, endian, names, report).is_some();
        if !whole {
            report.warn("version needs: expected a chain inside .gnu.version_r, found it broken; kept the versions before that");
        }
        versions
    }

    fn read_defined<'data>(
        &mut self,
        (table, strings): (&'data [u8], &'data [u8]),
        endian: Endianness,
        names: &mut Vec<&'data [u8]>,
        report: &mut Report,
    ) -> Option<()> {
        let mut budget = Budget::for_file(table, 1);
        let mut strings = Strings::new(strings, 1024);
        let mut offset = 0u64;
        while !table.is_empty() {
            let entry = bytes::record_at::<elf::Verdef<Endianness>>(table, offset)?;
            let base = entry.vd_flags.get(endian).0 & elf::VER_FLG_BASE.0 != 0;
            let auxiliary = offset.checked_add(u64::from(entry.vd_aux.get(endian)))?;
            if !base {
                let first = bytes::record_at::<elf::Verdaux<Endianness>>(table, auxiliary)?;
                let name = strings.get(u64::from(first.vda_name.get(endian))).ok()?;
                self.add(entry.vd_ndx.get(endian).0, name, true, names, report);
            }
            offset = next(offset, entry.vd_next.get(endian), &mut budget)?;
            if entry.vd_next.get(endian) == 0 {
                break;
            }
        }
        Some(())
    }

    fn read_needed<'data>(
        &mut self,
        (table, strings): (&'data [u8], &'data [u8]),
        endian: Endianness,
        names: &mut Vec<&'data [u8]>,
        report: &mut Report,
    ) -> Option<()> {
        let mut budget = Budget::for_file(table, 1);
        let mut strings = Strings::new(strings, 1024);
        let mut offset = 0u64;
        while !table.is_empty() {
            let entry = bytes::record_at::<elf::Verneed<Endianness>>(table, offset)?;
            let mut auxiliary = offset.checked_add(u64::from(entry.vn_aux.get(endian)))?;
            for _ in 0..entry.vn_cnt.get(endian) {
                let version = bytes::record_at::<elf::Vernaux<Endianness>>(table, auxiliary)?;
                let name = strings.get(u64::from(version.vna_name.get(endian))).ok()?;
                self.add(version.vna_other.get(endian).0, name, false, names, report);
                let step = version.vna_next.get(endian);
                if step == 0 {
                    break;
                }
                auxiliary = next(auxiliary, step, &mut budget)?;
            }
            let step = entry.vn_next.get(endian);
            if step == 0 {
                break;
            }
            offset = next(offset, step, &mut budget)?;
        }
        Some(())
    }

    fn add<'data>(
        &mut self,
        number: u16,
        name: &'data [u8],
        defined: bool,
        names: &mut Vec<&'data [u8]>,
        report: &mut Report,
    ) {
        let number = usize::from(number & elf::VERSYM_VERSION);
        if name.is_empty() || number == 0 {
            return;
        }
        if name.len() > MAX_NAME {
            report.skip("version with a name too long");
            return;
        }
        if self.numbers.len() <= number {
            // At most 32768 entries: the number has 15 bits.
            self.numbers.resize(number.saturating_add(1), (NO_VERSION, false));
        }
        if let Some(slot) = self.numbers.get_mut(number)
            && slot.0 == NO_VERSION
        {
            *slot = (u32::try_from(names.len()).unwrap_or(NO_VERSION), defined);
            names.push(name);
        }
    }

    /// The version of the symbol at position `order`.
    pub(super) fn of(&self, table: &[u8], order: u32, endian: Endianness) -> Option<Version> {
        if table.is_empty() {
            return None;
        }
        let raw = bytes::u16_at(table, u64::from(order).saturating_mul(2), endian)?;
        let &(index, defined) = self.numbers.get(usize::from(raw & elf::VERSYM_VERSION))?;
        if index == NO_VERSION {
            return None;
        }
        Some(Version { index, default: defined && raw & elf::VERSYM_HIDDEN.0 == 0 })
    }
}

/// One step along a chain, whose steps together may not exceed the table.
fn next(offset: u64, step: u32, budget: &mut Budget) -> Option<u64> {
    let step = u64::from(step);
    if !budget.take(step) {
        return None;
    }
    offset.checked_add(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 MB of version beside 5,000 symbols made an index of 5 GB.
    #[test]
    fn a_version_with_a_huge_name_is_none() {
        for (length, known) in [(MAX_NAME, 1), (MAX_NAME.saturating_add(1), 0)] {
            let mut strings = vec![0];
            strings.resize(length.saturating_add(1), b'V');
            strings.push(0);
            let mut table = Vec::new();
            for half in [1u16, 0, 2, 1] {
                table.extend_from_slice(&half.to_le_bytes());
            }
            // Hash, distance to the name and to the next; name, next.
            for word in [0u32, 20, 0, 1, 0] {
                table.extend_from_slice(&word.to_le_bytes());
            }
            let tables = VersionTables { defined: (&table, &strings), needed: (&[], &[]) };
            let (mut names, mut report) = (Vec::new(), Report::default());
            let _ = Versions::read(&tables, Endianness::Little, &mut names, &mut report);
            assert_eq!(names.len(), known);
            assert_eq!(report.skipped.is_empty(), known == 1);
            assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        }
    }
}
