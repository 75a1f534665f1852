//! A process: run-time addresses of whatever it has mapped.
//!
//! In: a process or the recorded text of its maps, read once. Out: per address the
//! mapping, the file's index (opened once) and the answer; for code without a file
//! what the process's compiler wrote of it, and the kernel's for its addresses.
//! Never stops the process.

use std::collections::HashMap;
use std::path::Path;

use symidx::Index;
use symidx::process::{Located, Module, ModuleKind, Modules, Store};

use super::LookupArgs;
use super::image::{Found, Reason, find_at};
use super::jit::{self, Jit};
use super::kernel::Kernel;
use super::query::Query;
use crate::failure::Failure;
use crate::frames::Want;
use crate::source::{self, Source, Taken};
use crate::ui::Ui;

/// The upper half of all addresses is the kernel's.
const KERNEL: u64 = 1 << 63;

/// The modules of a process and the indexes of their files.
pub(super) struct Process {
    modules: Modules,
    /// By the module's number.
    opened: HashMap<u32, Result<Index<'static>, String>>,
    /// Of a process that runs.
    live: Option<Live>,
    args: LookupArgs,
    back: u64,
    want: Want,
    ui: Ui,
}

/// What only a process that runs can be asked for; each is read when it is needed.
struct Live {
    pid: u32,
    /// Where indexes of its files may be.
    store: Store,
    jit: Option<Jit>,
    kernel: Option<Result<Kernel, String>>,
}

/// True for a process that sees the same files as this one: in its mount namespace.
fn shares_files(pid: u32) -> bool {
    let namespace = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let own = namespace("self");
    own.is_some() && namespace(&pid.to_string()) == own
}

impl Process {
    /// A process that runs.
    pub(super) fn live(pid: u32, args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let modules = Modules::from_pid(pid).map_err(|error| Failure::new(error.to_string()))?;
        let mut store = match shares_files(pid) {
            // SAFETY: indexes are replaced by rename and never edited, here and by
            // `symidx build`; whoever edits one in place while it is read ends this
            // short-lived process at worst.
            #[allow(unsafe_code)]
            true => unsafe { Store::mapped() },
            // What lies beside a container's binaries is in the container's hands:
            // it must not end a process outside by cutting a file short.
            false => Store::read(),
        };
        if let Some(directory) = &args.store {
            store = store.with_directory(directory);
        }
        let live = Live { pid, store, jit: None, kernel: None };
        Ok(Self { live: Some(live), ..Self::new(modules, args, ui) })
    }

    /// A process as it was when its maps were recorded.
    pub(super) fn recorded(maps: &Path, args: &LookupArgs, ui: Ui) -> Result<Self, Failure> {
        let text = std::fs::read(maps)
            .map_err(|error| Failure::file(maps, format_args!("cannot read: {error}")))?;
        let modules = Modules::from_maps(&text).map_err(|error| Failure::file(maps, error))?;
        Ok(Self::new(modules, args, ui))
    }

    fn new(modules: Modules, args: &LookupArgs, ui: Ui) -> Self {
        Self {
            modules,
            opened: HashMap::new(),
            live: None,
            args: args.clone(),
            back: u64::from(args.return_address),
            want: args.want(),
            ui,
        }
    }

    /// Answers a query.
    pub(super) fn find(&mut self, query: Query<'_>) -> Found<'_> {
        if query.section.is_some() {
            return Found::Wrong(
                "sections have no place in a process; give the address".to_owned(),
            );
        }
        let Some(address) = query.address.checked_sub(self.back) else {
            return Found::Miss(Reason::Uncovered.into());
        };
        let Some(located) = self.modules.find(address) else {
            return match &mut self.live {
                Some(live) if address >= KERNEL => live.in_kernel(query, &self.args, self.ui),
                _ => Found::Miss("no mapping holds this address".into()),
            };
        };
        let module = located.module();
        if module.kind() == ModuleKind::Anonymous {
            return match &mut self.live {
                Some(live) if located.is_executable() => {
                    live.jit(&self.modules, self.ui).find(address, self.back, self.want)
                }
                _ => Found::Miss(without_file(module).into()),
            };
        }
        let number = located.number();
        if !self.opened.contains_key(&number) {
            let index = self.open(module);
            self.opened.insert(number, index);
        }
        match self.opened.get(&number) {
            Some(Ok(index)) => in_file(index, located, self.back, self.want),
            // Shared memory has a name like a file; code in it was made at run time.
            Some(Err(error)) => match &mut self.live {
                Some(live) if located.is_executable() => {
                    match live.jit(&self.modules, self.ui).find(address, self.back, self.want) {
                        Found::Miss(_) => Found::Miss(error.clone().into()),
                        found => found,
                    }
                }
                _ => Found::Miss(error.clone().into()),
            },
            None => Found::Miss(Reason::Uncovered.into()),
        }
    }

    fn open(&self, module: &Module) -> Result<Index<'static>, String> {
        if module.kind() == ModuleKind::Vdso {
            return match &self.live {
                Some(live) => jit::vdso(live.pid, module),
                None => Err(without_file(module)),
            };
        }
        let (file, path) = (module.file(), module.path());
        if self.live.is_none() && path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)") {
            return Err(format!("the file is gone: {}", path.display()));
        }
        // Opening a pipe would wait, and so would reading some files of the kernel, which
        // say that they are empty; a device has no symbols.
        if file.metadata().is_ok_and(|metadata| !metadata.is_file() || metadata.len() == 0) {
            return Err(format!("no file: {}", path.display()));
        }
        let read = &self.args.read;
        if let Some(live) = self.live.as_ref().filter(|_| !read.names_companions())
            && let Ok(index) = live.store.find(file, module.id())
        {
            return Ok(index);
        }
        let taken = match &self.live {
            Some(live) if live.store.is_read() => Taken::Copied,
            _ => Taken::Mapped,
        };
        let store = self.args.store.as_deref();
        let source = Source { file, read, store, in_caches: false, taken };
        source::open(source, self.ui).map_err(|failure| failure.to_string())
    }
}

impl Live {
    fn jit(&mut self, modules: &Modules, ui: Ui) -> &Jit {
        self.jit.get_or_insert_with(|| Jit::open(self.pid, modules, ui))
    }

    fn in_kernel(&mut self, query: Query<'_>, args: &LookupArgs, ui: Ui) -> Found<'_> {
        let kernel = self
            .kernel
            .get_or_insert_with(|| Kernel::open(args, ui).map_err(|failure| failure.to_string()));
        match kernel {
            Ok(kernel) => kernel.find(query),
            Err(error) => Found::Miss(error.clone().into()),
        }
    }
}

/// Why a module has no symbols: memory, or something with a name in brackets.
fn without_file(module: &Module) -> String {
    match module.path().as_os_str().is_empty() {
        true => "anonymous memory".to_owned(),
        false => format!("no file: {}", module.path().display()),
    }
}

/// The answer from the index of the file that holds an address.
fn in_file<'i>(index: &'i Index<'_>, located: Located<'i>, back: u64, want: Want) -> Found<'i> {
    let path = located.module().path();
    let offset = located.file_offset().unwrap_or_default();
    match index.svma_in_mapping(offset, located.is_executable()) {
        Some(svma) => find_at(index, svma, back, want, Some(path))
            .unwrap_or_else(|corrupt| Found::Wrong(corrupt.to_string()))
            .asked_otherwise(svma.0.wrapping_add(back)),
        None => Found::Miss(
            format!("no segment of {} holds its file offset {:#x}", path.display(), offset.0)
                .into(),
        ),
    }
}
