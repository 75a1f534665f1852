//! Debug maps: debugger entries of a linked image in, and the debug information
//! of the objects they name out, each with the way from its addresses to the image's.
//! An object that is gone or was made anew since costs only its own lines.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use object::Endianness;
use object::macho;
use object::read::macho::MachHeader;

use super::archive::{self, Member};
use super::debug_info::{Added, Search};
use super::debug_sections;
use super::{Thin, arch, fat, header_of};
use crate::input::debug::{Count, MAX_PARTS, disjoint, own_directories, path_of};
use crate::input::map_file;
use crate::model::{Companion, DebugInfo, Machine, Mapping, Report, Store};

/// One function of the image, as the linker placed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function<'data> {
    /// As in the object's symbol table.
    name: &'data [u8],
    address: u64,
    size: u64,
}

/// One object that the image was linked from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Object<'data> {
    /// Its path, or `archive(member)`.
    path: &'data [u8],
    /// When it was last changed, in seconds; 0 = not said.
    time: u64,
    functions: Vec<Function<'data>>,
}

/// The objects that the stabs name, each once, in table order.
fn objects<'data>(
    stabs: impl Iterator<Item = (macho::SymbolStab, u64, &'data [u8])>,
) -> Vec<Object<'data>> {
    let mut objects: Vec<Object<'data>> = Vec::new();
    let mut places = HashMap::new();
    let mut current = None;
    let mut open: Option<(&[u8], u64)> = None;
    for (kind, value, name) in stabs {
        match kind {
            macho::N_OSO => {
                let place = *places.entry((name, value)).or_insert(objects.len());
                if place == objects.len() {
                    objects.push(Object { path: name, time: value, functions: Vec::new() });
                }
                (current, open) = (Some(place), None);
            }
            macho::N_SO => (current, open) = (None, None),
            macho::N_FUN if !name.is_empty() => open = Some((name, value)),
            macho::N_FUN => {
                let object = current.and_then(|place| objects.get_mut(place));
                if let (Some((name, address)), Some(object)) = (open.take(), object) {
                    object.functions.push(Function { name, address, size: value });
                }
            }
            _ => {}
        }
    }
    objects.retain(|object| !object.path.is_empty() && !object.functions.is_empty());
    objects
}

/// Adds the debug information of the objects that `main`'s debug map names.
pub(super) fn read<'data, M: MachHeader<Endian = Endianness>>(
    main: &Thin<'data, M>,
    machine: &Machine,
    search: &Search<'_, 'data>,
    added: &mut Added<'data>,
    report: &mut Report,
) {
    let all = objects(main.table.stabs());
    let (mut missing, mut refused) = (Count::default(), Count::default());
    let mut files =
        Files { search, store: search.store, archives: HashMap::new(), seen: HashSet::new() };
    let mut used = HashSet::new();
    let (near, far) = all.split_at(all.len().min(MAX_PARTS));
    for _ in far {
        refused.add(|| format!("only {MAX_PARTS} are opened"));
    }
    for object in near {
        let found = match files.find(object) {
            Ok(found) => found,
            Err(Some(reason)) => {
                refused.add(|| reason);
                continue;
            }
            Err(None) => {
                missing.add(|| String::from_utf8_lossy(object.path).into_owned());
                continue;
            }
        };
        match debug_info(main, machine, object, &found, search.store, report) {
            Ok(None) => {}
            Ok(Some(debug)) => {
                added.debug.push(debug);
                if used.insert(found.file.clone()) {
                    let (path, data) = (found.file, found.data);
                    added.companions.push(Companion { path, role: "object file", data });
                }
            }
            Err(reason) => refused.add(|| format!("{}: {reason}", found.name)),
        }
    }
    for (count, what) in [(missing, "missing"), (refused, "changed, damaged or too many")] {
        if count.count > 0 {
            report.warn(format!(
                "debug map: {} of {} object files are {what} (first: {}); went on without their lines",
                count.count,
                all.len(),
                count.example,
            ));
        }
    }
}

/// The debug information of one object, its functions mapped into the image;
/// `None` when it has none.
fn debug_info<'data, M: MachHeader<Endian = Endianness>>(
    main: &Thin<'data, M>,
    machine: &Machine,
    object: &Object<'data>,
    found: &Found<'data>,
    store: &'data Store,
    report: &mut Report,
) -> Result<Option<DebugInfo<'data>>, String> {
    let wanted = arch::name(main.cpu, main.subtype);
    let images = fat::images(found.object);
    let image = match images.as_slice() {
        [(_, only)] => Some(*only),
        several => several.iter().find(|(slice, _)| slice.arch == wanted).map(|(_, image)| *image),
    };
    let Some(image) = image else {
        return Err(format!("expected a Mach-O object for {wanted}, found none"));
    };
    let mut own = Report::default();
    let header = header_of::<M>(image).ok_or("expected an object of the same address width")?;
    let thin = Thin::read(image, header, &mut own);
    if thin.cpu != main.cpu {
        let other = arch::name(thin.cpu, thin.subtype);
        return Err(format!("expected an object for {wanted}, found one for {other}"));
    }
    let label = format!("object {}: ", found.name);
    for warning in own.warnings {
        report.warn(format!("{label}{warning}"));
    }
    if !debug_sections::has_info(&thin.commands.sections) {
        report.skip("object of the debug map without debug information");
        return Ok(None);
    }
    let sections = thin.debug_sections(&label, store, report);
    if sections.info.is_empty() {
        return Ok(None);
    }
    let mut starts = HashMap::new();
    for (name, value) in thin.table.definitions() {
        starts.entry(name).or_insert(value);
    }
    let mut lost = 0u64;
    let mut mappings = Vec::new();
    for function in &object.functions {
        let mapping = starts.get(function.name).and_then(|&start| {
            let section = main.layout.holding(function.address)?;
            let end = main.layout.section(section).map(|s| s.address.saturating_add(s.size))?;
            let size = function.size.min(end.saturating_sub(function.address));
            Some(Mapping { start, size, section, target: function.address })
        });
        match mapping {
            Some(mapping) => mappings.push(mapping),
            None => lost = lost.saturating_add(1),
        }
    }
    report.skip_many("function of the debug map that its object lacks", lost);
    Ok(Some(DebugInfo {
        label,
        sections,
        supplementary: None,
        split: Vec::new(),
        package: None,
        addresses: disjoint(mappings),
        machine: machine.clone(),
    }))
}

/// An object that is there.
struct Found<'data> {
    /// For messages: its file, and its name in an archive.
    name: String,
    /// The file that was read.
    file: PathBuf,
    /// All of that file.
    data: &'data [u8],
    /// The object in it.
    object: &'data [u8],
}

/// Finds objects; each is read once, and each archive, whatever its paths.
struct Files<'a, 'data> {
    search: &'a Search<'a, 'data>,
    store: &'data Store,
    /// By their real paths.
    archives: HashMap<PathBuf, Archive<'data>>,
    /// Real paths, and members of them, that were given out.
    seen: HashSet<(PathBuf, Vec<u8>)>,
}

/// An archive's bytes, and its members by file name; several may have one name.
struct Archive<'data> {
    data: &'data [u8],
    members: HashMap<Vec<u8>, Vec<Member<'data>>>,
}

impl<'data> Files<'_, 'data> {
    /// The object's file; else why the one that is there is not it, if one is.
    fn find(&mut self, object: &Object<'_>) -> Result<Found<'data>, Option<String>> {
        let (file, member) = match archive::split_name(object.path) {
            Some((file, member)) => (file, Some(member)),
            None => (object.path, None),
        };
        let mut refusal = None;
        for path in self.places(file) {
            if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let Ok(real) = path.canonicalize() else { continue };
            let found = match member {
                Some(member) => self.member((&path, &real), member, object.time),
                None => self.file(&path, object.time),
            };
            match found {
                Ok(found) => {
                    if self.seen.insert((real, member.unwrap_or_default().to_vec())) {
                        return Ok(found);
                    }
                    refusal.get_or_insert(format!("{}: named twice", path.display()));
                }
                Err(reason) => {
                    refusal.get_or_insert(format!("{}: {reason}", path.display()));
                }
            }
        }
        Err(refusal)
    }

    /// Where a file may be: where it was, beside the image, or in the
    /// directories that the user named.
    fn places(&self, file: &[u8]) -> Vec<PathBuf> {
        let Some(path) = path_of(file) else { return Vec::new() };
        let base = path.file_name().map(PathBuf::from).unwrap_or_default();
        let options = self.search.options;
        let mut places = Vec::new();
        if options.auto_debug {
            let own = own_directories(self.search.path);
            if path.is_absolute() {
                places.push(path.clone());
            } else {
                places.extend(own.iter().map(|own| own.join(&path)));
            }
            places.extend(own.iter().map(|own| own.join(&base)));
        }
        let below = path.strip_prefix("/").unwrap_or(&path);
        for root in &options.debug_dirs {
            places.extend([root.join(below), root.join(&base)]);
        }
        places
    }

    fn file(&self, path: &Path, time: u64) -> Result<Found<'data>, String> {
        let changed = path.metadata().ok().and_then(|metadata| metadata.modified().ok());
        let changed = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
        check_time(time, changed.map_or(0, |changed| changed.as_secs()))?;
        let data = map_file(path, self.store).map_err(|error| error.to_string())?;
        let name = path.display().to_string();
        Ok(Found { name, file: path.to_path_buf(), data, object: data })
    }

    fn member(
        &mut self,
        (path, real): (&Path, &Path),
        member: &[u8],
        time: u64,
    ) -> Result<Found<'data>, String> {
        if !self.archives.contains_key(real) {
            let archive = Archive::open(path, self.store)?;
            self.archives.insert(real.to_path_buf(), archive);
        }
        let archive = self.archives.get(real).ok_or("no archive")?;
        let shown = String::from_utf8_lossy(member);
        let members = archive.members.get(member).map(Vec::as_slice).unwrap_or_default();
        let right = members.iter().find(|member| check_time(time, member.time).is_ok());
        let Some(right) = right else {
            let first = members.first().ok_or_else(|| format!("no member {shown}"))?;
            return Err(check_time(time, first.time).err().unwrap_or_default());
        };
        if let Some(object) = right.data {
            let name = format!("{}({shown})", path.display());
            return Ok(Found { name, file: path.to_path_buf(), data: archive.data, object });
        }
        // The archive's time stamp is the proof; the file itself has another.
        let file = archive::thin_path(path, &right.name).filter(|file| file.is_file());
        self.file(&file.ok_or_else(|| format!("no member {shown}"))?, 0)
    }
}

impl<'data> Archive<'data> {
    fn open(path: &Path, store: &'data Store) -> Result<Self, String> {
        let data = map_file(path, store).map_err(|error| error.to_string())?;
        let list = archive::members(data).ok_or("expected an archive, found something else")?;
        let mut members: HashMap<Vec<u8>, Vec<Member<'data>>> = HashMap::new();
        for member in list {
            // The linker says `m.o` where a thin archive says `dir/m.o`.
            let name = member.name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            members.entry(name.to_vec()).or_default().push(member);
        }
        Ok(Self { data, members })
    }
}

/// Refuses an object that was changed after the image was linked.
fn check_time(stated: u64, found: u64) -> Result<(), String> {
    if stated == 0 || stated == found {
        return Ok(());
    }
    Err(format!("expected time stamp {stated} by the debug map, found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stabs_are_grouped_by_object() {
        let stabs: [(macho::SymbolStab, u64, &[u8]); 16] = [
            (macho::N_SO, 0, b"/src/"),
            (macho::N_FUN, 1, b"_lost"),
            (macho::N_FUN, 1, b""),
            (macho::N_OSO, 7, b"/a.o"),
            (macho::N_FUN, 0x10, b"_f"),
            (macho::N_FUN, 4, b""),
            (macho::N_FUN, 0x20, b"_g"),
            (macho::N_SO, 0, b""),
            (macho::N_FUN, 4, b""),
            (macho::N_OSO, 7, b"/empty.o"),
            (macho::N_OSO, 8, b"/a.o"),
            (macho::N_FUN, 0x30, b"_h"),
            (macho::N_FUN, 5, b""),
            (macho::N_OSO, 7, b"/a.o"),
            (macho::N_FUN, 0x40, b"_i"),
            (macho::N_FUN, 6, b""),
        ];
        let function = |name, address, size| Function { name, address, size };
        let found = objects(stabs.into_iter());
        assert_eq!(
            found,
            [
                Object {
                    path: b"/a.o",
                    time: 7,
                    functions: vec![function(b"_f", 0x10, 4), function(b"_i", 0x40, 6)],
                },
                Object { path: b"/a.o", time: 8, functions: vec![function(b"_h", 0x30, 5)] },
            ]
        );
    }

    #[test]
    fn times_are_compared_when_they_are_stated() {
        assert_eq!(check_time(5, 5), Ok(()));
        assert_eq!(check_time(0, 5), Ok(()));
        let refusal = check_time(5, 6).err().unwrap_or_default();
        assert!(refusal.contains("time stamp 5") && refusal.contains("found 6"), "{refusal}");
    }
}
