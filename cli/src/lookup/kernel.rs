//! The kernel: run-time addresses of its image, its modules and what it makes itself.
//!
//! In: kallsyms (of the running kernel, or a text of it), and where they are to be
//! had the index of its vmlinux and of its modules, each accepted by build-id and
//! placed where it was loaded. Out: kallsyms' name for an address, or the other's
//! name with its lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use symidx::kernel::{Placement, module_sections, slide};
use symidx::{Index, Svma};
use symidx_indexer::input::kallsyms::running;
use symidx_indexer::store::{Kind, place};

use super::LookupArgs;
use super::image::{Found, Reason, find_at, find_in, find_moved};
use super::modules;
use super::query::Query;
use crate::failure::{Failure, exit};
use crate::frames::Want;
use crate::source::{self, Source, Taken};
use crate::text::os_str;
use crate::ui::Ui;

/// What symidx names the modules that are none: code that the kernel makes itself.
const NO_FILES: [&[u8]; 3] = [b"bpf", b"__builtin__ftrace", b"__builtin__kprobes"];

/// A kernel to look addresses up in.
pub(super) struct Kernel {
    kallsyms: Index<'static>,
    vmlinux: Option<Vmlinux>,
    /// By name; `None`: nothing but kallsyms knows it.
    modules: HashMap<Vec<u8>, Option<Loaded>>,
    args: LookupArgs,
    back: u64,
    want: Want,
    ui: Ui,
}

/// The kernel's image.
struct Vmlinux {
    path: PathBuf,
    index: Index<'static>,
    slide: u64,
}

/// A module's image.
struct Loaded {
    path: PathBuf,
    index: Index<'static>,
    placement: Placement,
}

impl Kernel {
    /// The running kernel, or the one of `--kallsyms`.
    pub(super) fn open(args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let file = args.kallsyms.as_deref().unwrap_or(Path::new(running::KALLSYMS));
        let store = args.store.as_deref();
        let source =
            Source { file, read: &args.read, store, in_caches: true, taken: Taken::Mapped };
        let kallsyms = source::open(source, ui)?;
        let vmlinux = match &args.vmlinux {
            Some(path) => Some(Vmlinux::open(path, &kallsyms, args, ui)?),
            None => Vmlinux::in_stores(&source.stores(), &kallsyms),
        };
        Ok(Self {
            kallsyms,
            vmlinux,
            modules: HashMap::new(),
            args: args.clone(),
            back: u64::from(args.return_address),
            want: args.want(),
            ui,
        })
    }

    /// Answers a query.
    pub(super) fn find(&mut self, query: Query<'_>) -> Found<'_> {
        if query.section.is_some() {
            return Found::Wrong(
                "sections have no place in a kernel that runs; give the address".to_owned(),
            );
        }
        let Some(address) = query.address.checked_sub(self.back) else {
            return Found::Miss(Reason::Uncovered.into());
        };
        let module = match self.module_at(address) {
            Ok(module) => module,
            Err(corrupt) => return Found::Wrong(corrupt.to_string()),
        };
        if let Some(name) = &module
            && !self.modules.contains_key(name)
        {
            let loaded = self.load(name);
            self.modules.insert(name.clone(), loaded);
        }
        // An image's answer, unless it has none: then kallsyms has the last word.
        let found = match module {
            Some(name) => self.modules.get(&name).and_then(Option::as_ref).and_then(|loaded| {
                let place = loaded.placement.find(address)?;
                Some(find_in(&loaded.index, place, self.back, self.want, Some(&loaded.path)))
            }),
            None => self.vmlinux.as_ref().map(|vmlinux| {
                let svma = Svma(address.wrapping_sub(vmlinux.slide));
                let (slide, file) = (vmlinux.slide, Some(vmlinux.path.as_path()));
                find_moved(&vmlinux.index, svma, slide, self.back, self.want, file)
            }),
        };
        match found {
            Some(Ok(found @ Found::Hit(_))) => return found,
            Some(Err(corrupt)) => return Found::Wrong(corrupt.to_string()),
            Some(Ok(_)) | None => {}
        }
        find_at(&self.kallsyms, Svma(address), self.back, self.want, None)
            .unwrap_or_else(|corrupt| Found::Wrong(corrupt.to_string()))
    }

    /// The module that has an address, by kallsyms.
    fn module_at(&self, address: u64) -> Result<Option<Vec<u8>>, symidx::Corrupt> {
        let symbol = self.kallsyms.lookup(Svma(address))?;
        let module = symbol.map(|symbol| symbol.module()).transpose()?.flatten();
        Ok(module.map(|module| module.to_bytes().to_vec()))
    }

    /// The image of a module that is loaded; a reason why there is none is a note.
    fn load(&self, name: &[u8]) -> Option<Loaded> {
        if NO_FILES.contains(&name) {
            return None;
        }
        let shown = String::from_utf8_lossy(name);
        match self.try_load(name) {
            Ok(loaded) => loaded,
            Err(failure) => {
                self.ui
                    .note(format_args!("module {shown}: {failure}; names are those of kallsyms"));
                None
            }
        }
    }

    fn try_load(&self, name: &[u8]) -> Result<Option<Loaded>, Failure> {
        // A text from elsewhere says nothing of where this kernel's modules are.
        let directory = match (&self.args.module_sections, &self.args.kallsyms) {
            (Some(directory), _) => directory.clone(),
            (None, Some(_)) => return Ok(None),
            (None, None) => PathBuf::from("/sys/module"),
        };
        let directory = directory.join(os_str(name));
        let id = running::build_id_of(&directory.join("notes/.note.gnu.build-id"));
        let store = self.args.store.as_deref();
        let source = Source {
            file: Path::new(""),
            read: &self.args.read,
            store,
            in_caches: true,
            taken: Taken::Mapped,
        };
        let stored = id.as_deref().and_then(|id| in_stores(&source.stores(), id));
        let (path, index) = match stored {
            Some(found) => found,
            None => {
                let Some(file) = modules::file_of(name, &self.args.read) else { return Ok(None) };
                let index = source::open(Source { file: &file, ..source }, self.ui)?;
                (file, index)
            }
        };
        if let (Some(expected), Some(found)) = (&id, index.build_id())
            && found != expected.as_slice()
        {
            return Err(another_build(&path, expected, found));
        }
        let sections = directory.join("sections");
        let sections =
            module_sections(&sections).map_err(|error| Failure::file(&sections, error))?;
        let corrupt = |corrupt| Failure::file(&path, corrupt);
        let placement = Placement::new(&index, &sections).map_err(corrupt)?;
        Ok(Some(Loaded { path, index, placement }))
    }
}

impl Vmlinux {
    /// The image that the user names: it has to be the right one.
    fn open(path: &Path, kallsyms: &Index<'_>, args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let store = args.store.as_deref();
        let source =
            Source { file: path, read: &args.read, store, in_caches: true, taken: Taken::Mapped };
        let index = source::open(source, ui)?;
        if let (Some(expected), Some(found)) = (kallsyms.build_id(), index.build_id())
            && expected != found
        {
            return Err(another_build(path, expected, found));
        }
        let slide = slide(kallsyms, &index).map_err(|corrupt| Failure::file(path, corrupt))?;
        match slide {
            Some(slide) => Ok(Self { path: path.to_owned(), index, slide }),
            None => Err(Failure::file(
                path,
                "expected _text or _stext in it and in kallsyms, found no such name in common; give the vmlinux with its symbol table",
            )),
        }
    }

    /// The image whose index is in a store, by the kernel's build-id.
    fn in_stores(stores: &[PathBuf], kallsyms: &Index<'_>) -> Option<Self> {
        let (path, index) = in_stores(stores, kallsyms.build_id()?)?;
        let slide = slide(kallsyms, &index).ok().flatten()?;
        Some(Self { path, index, slide })
    }
}

/// The index of this build-id in the first store that has it.
fn in_stores(stores: &[PathBuf], id: &[u8]) -> Option<(PathBuf, Index<'static>)> {
    let places = stores.iter().map(|store| place(store, id, Kind::File));
    places.filter(|place| place.is_file()).find_map(|place| {
        let index = source::map(&place).ok()?;
        (index.build_id() == Some(id)).then_some((place, index))
    })
}

fn another_build(path: &Path, expected: &[u8], found: &[u8]) -> Failure {
    Failure::Line {
        code: exit::MISMATCH,
        text: format!(
            "{}: expected the build-id {} of the running kernel, found {}; give the file of this very build",
            path.display(),
            symidx_indexer::hex(expected),
            symidx_indexer::hex(found)
        ),
    }
}
