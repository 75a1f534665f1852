//! Paths as binutils join them: every part that is stated, even when two are
//! the same.
//!
//! In: the header of a line program. Out: paths by file number, whole.

use super::super::files::{Program, Stated};
use super::super::limits::Allowance;
use super::super::unit::{Dwarf, Unit};
use crate::model::lines::is_absolute;

/// What binutils print for a file that the table does not have.
const UNKNOWN: &[u8] = b"<unknown>";

/// The file table of one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths<'data> {
    /// DWARF 5: files and directories count from 0.
    from_zero: bool,
    base: Option<&'data [u8]>,
    directories: Vec<&'data [u8]>,
    files: Vec<(u64, &'data [u8])>,
}

impl<'data> Paths<'data> {
    /// The table in a line program's header.
    pub(super) fn read(
        dwarf: &Dwarf<'data>,
        unit: &Unit<'data>,
        program: &Program<'data>,
        allowance: &Allowance,
    ) -> Self {
        let Stated { directories, files } = Stated::read(dwarf, unit, program, allowance);
        Self {
            from_zero: program.header().version() >= 5,
            base: unit.comp_dir.map(|directory| without_host(directory.slice())),
            directories,
            files,
        }
    }

    /// Adds a file that the program itself defines (DWARF 2 to 4).
    pub(super) fn define(&mut self, directory: u64, name: &'data [u8]) {
        self.files.push((directory, name));
    }

    /// The path of a file. Its directory is joined to the unit's unless it is
    /// absolute, whatever it is: in DWARF 5 directory 0 is the unit's own, and
    /// a relative one is there twice.
    pub(super) fn path(&self, file: u64) -> Vec<u8> {
        let counted =
            |number: u64| if self.from_zero { Some(number) } else { number.checked_sub(1) };
        let place = counted(file).and_then(|place| usize::try_from(place).ok());
        let Some(&(directory, name)) = place.and_then(|place| self.files.get(place)) else {
            return UNKNOWN.to_vec();
        };
        if is_absolute(name) {
            return name.to_vec();
        }
        let directory = counted(directory).and_then(|place| usize::try_from(place).ok());
        let directory = directory.and_then(|place| self.directories.get(place)).copied();
        let base = self.base.filter(|_| !directory.is_some_and(is_absolute));
        let mut path = Vec::new();
        for part in [base, directory].into_iter().flatten() {
            path.extend_from_slice(part);
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }
}

/// A directory without the host in front that a compiler of old wrote: `host.:/dir`.
fn without_host(directory: &[u8]) -> &[u8] {
    match memchr::memmem::find(directory, b".:/") {
        Some(place) => directory.get(place.saturating_add(2)..).unwrap_or(directory),
        None => directory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(from_zero: bool, base: &'static [u8]) -> Paths<'static> {
        Paths {
            from_zero,
            base: Some(base),
            directories: vec![base, b"include", b"/usr/include"],
            files: vec![(0, b"a.c"), (1, b"b.h"), (2, b"c.h"), (0, b"/d.c"), (9, b"e.c")],
        }
    }

    fn path(paths: &Paths<'_>, file: u64) -> String {
        String::from_utf8_lossy(&paths.path(file)).into_owned()
    }

    #[test]
    fn relative_directories_of_dwarf_5_are_there_twice() {
        let paths = table(true, b"./sunrpc");
        let expected = [
            "./sunrpc/./sunrpc/a.c",
            "./sunrpc/include/b.h",
            "/usr/include/c.h",
            "/d.c",
            "./sunrpc/e.c",
        ];
        for (file, expected) in (0..).zip(expected) {
            assert_eq!(path(&paths, file), expected);
        }
        assert_eq!(path(&table(true, b"/src"), 0), "/src/a.c");
        assert_eq!(path(&paths, 5), "<unknown>");
    }

    #[test]
    fn older_tables_count_from_1_and_directory_0_is_the_units() {
        let paths = table(false, b"./sunrpc");
        for (file, expected) in [
            (0, "<unknown>"),
            (1, "./sunrpc/a.c"),
            (2, "./sunrpc/./sunrpc/b.h"),
            (3, "./sunrpc/include/c.h"),
        ] {
            assert_eq!(path(&paths, file), expected);
        }
        assert_eq!(without_host(b"host.:/src"), b"/src");
        assert_eq!(without_host(b"/src"), b"/src");
    }
}
