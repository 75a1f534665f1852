//! `symidx lookup`: addresses to symbols.
//!
//! In: an index or a binary (or a process), and addresses as arguments or on
//! standard input. Out: one answer per address, in order, each written as soon
//! as no further query is at hand. Memory does not grow with the number of queries.

mod answer;
mod image;
mod jit;
mod kernel;
mod module_sections;
mod modules;
mod process;
mod query;
mod stream;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use crate::failure::{Failure, exit};
use crate::frames::Want;
use crate::options::{ReadArgs, address_option, bias_option};
use crate::output::Output;
use crate::source::{self, Source, Taken};
use crate::ui::Ui;

use answer::{Manner, Writer};
use image::{Base, Found, Image};
use kernel::Kernel;
use process::Process;
use query::Query;

/// Addresses to symbols.
#[derive(Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("space").args(["offset", "section", "load_address", "bias", "maps", "pid", "module_sections"])),
    after_help = "With no address, or `-`, addresses are read from standard input, one a line, and each is \
                  answered at once. For a binary its FILE.symidx is used when it is that of this very file; \
                  else an index is built in memory.\n\n\
                  In JSON, `address` is as it was asked for and `start` as the file's symbol table has it. Where \
                  the two count differently (--pid, --maps, --load-address, --bias, --offset), `svma` is the \
                  address as the symbol table counts: `start` + `offset` (of the kernel, `start` is where it runs).\n\n\
                  EXAMPLES:\n  \
                  symidx lookup app 0x401136\n  \
                  symidx lookup --no-inlines app 0x401136      one line per address\n  \
                  symidx lookup --style llvm --json app 0x401136\n  \
                  symidx lookup --json app.symidx < addresses\n  \
                  symidx lookup --offset libc.so.6 0x29d90      file offset, as perf records it\n  \
                  symidx lookup --section .init.text m.ko 0x10\n  \
                  symidx lookup --load-address 0x7f12a0000000 libm.so.6 0x7f12a000e0f4\n  \
                  symidx lookup --pid 4711 0x7f12a000e0f4\n  \
                  symidx lookup --kernel --vmlinux /usr/lib/debug/boot/vmlinux ffffffff9f0a12b4\n  \
                  cat /proc/4711/maps > maps; symidx lookup --maps maps 0x7f12a000e0f4"
)]
pub(crate) struct LookupArgs {
    /// The .symidx file or binary. Not given with --pid, --maps or --kernel.
    #[arg(value_name = "FILE", required_unless_present_any = ["pid", "maps", "kernel"])]
    file: Option<OsString>,
    /// Addresses in hex, with or without 0x; `-` reads standard input.
    #[arg(value_name = "ADDR")]
    addresses: Vec<OsString>,
    /// One JSON object per address; with --style llvm, llvm-symbolizer's.
    #[arg(long)]
    json: bool,
    /// As llvm-symbolizer or GNU addr2line print, or for people (the default).
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// Addresses are file offsets.
    #[arg(long, help_heading = "What the addresses are")]
    offset: bool,
    /// Addresses are offsets in this section (by default, in a `.o` or `.ko`: in .text); as an address also NAME:0x10.
    #[arg(long, value_name = "NAME", help_heading = "What the addresses are")]
    section: Option<String>,
    /// Addresses are run-time ones of an image loaded at A.
    #[arg(long, value_name = "A", value_parser = address_option, help_heading = "What the addresses are")]
    load_address: Option<u64>,
    /// Addresses are run-time ones of an image that was moved by B.
    #[arg(long, value_name = "B", value_parser = bias_option, allow_hyphen_values = true, help_heading = "What the addresses are")]
    bias: Option<u64>,
    /// Addresses are run-time ones of the process with this /proc/PID/maps text.
    #[arg(long, value_name = "FILE", help_heading = "What the addresses are")]
    maps: Option<PathBuf>,
    /// Addresses are run-time ones of this process, of code that it made (its jitdump file or
    /// /tmp/perf-P.map tells), and of the kernel. Indexes are looked for in $SYMIDX_PATH and
    /// the user's cache too.
    #[arg(long, value_name = "P", help_heading = "What the addresses are")]
    pid: Option<u32>,
    /// Addresses are run-time ones of the running kernel.
    #[arg(long, conflicts_with_all = ["offset", "section", "load_address", "bias", "maps", "pid"], help_heading = "What the addresses are")]
    kernel: bool,
    /// With --kernel: the text of /proc/kallsyms, of whatever machine.
    #[arg(long, value_name = "FILE", requires = "kernel", help_heading = "What the addresses are")]
    kallsyms: Option<PathBuf>,
    /// With --kernel or --pid: the kernel's image, for lines; moved to where kallsyms has it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["offset", "section", "load_address", "bias", "maps"], help_heading = "What the addresses are")]
    vmlinux: Option<PathBuf>,
    /// For a kernel module: the directory /sys/module/M/sections, or lines `NAME 0xADDR`
    /// of it. With --kernel: a directory such as /sys/module.
    #[arg(long, value_name = "PATH", help_heading = "What the addresses are")]
    module_sections: Option<PathBuf>,
    /// Addresses are return addresses: look up the call in front of each.
    #[arg(long, help_heading = "What the addresses are")]
    return_address: bool,
    /// Only the outermost function, at the place of the innermost.
    #[arg(long)]
    no_inlines: bool,
    /// Linkage names.
    #[arg(long)]
    no_demangle: bool,
    /// List every alias (JSON always does).
    #[arg(long)]
    all: bool,
    /// Also look for the binary's index in this store.
    #[arg(long, value_name = "DIR", help_heading = "Reading binaries")]
    store: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// As llvm-symbolizer: name and place of every frame, empty line.
    Llvm,
    /// As GNU addr2line -f -i: name and place of every frame.
    Gnu,
    /// For people: one line, and one more per function inlined into.
    #[default]
    Plain,
    /// JSON lines.
    #[value(skip)]
    Json,
    /// As llvm-symbolizer --output-style=JSON.
    #[value(skip)]
    LlvmJson,
}

impl LookupArgs {
    fn want(&self) -> Want {
        Want { inlines: !self.no_inlines, display: !self.no_demangle }
    }
}

/// Answers every address; the exit code says whether all were well-formed.
pub(crate) fn run(args: LookupArgs, ui: Ui) -> Result<u8, Failure> {
    let style = style(&args)?;
    let mut addresses = args.addresses.clone();
    let running = args.maps.is_some() || args.pid.is_some() || args.kernel;
    let file = match (&args.file, running) {
        (Some(first), true) => {
            addresses.insert(0, first.clone());
            None
        }
        (file, _) => file.as_ref().map(PathBuf::from),
    };
    let few = !addresses.is_empty() && addresses.iter().all(|address| address != "-");
    let module = file.as_ref().map_or_else(String::new, |file| file.display().to_string());
    let space = match file {
        Some(file) => {
            let source = Source {
                file: &file,
                read: &args.read,
                store: args.store.as_deref(),
                in_caches: false,
                taken: if few { Taken::Sparse } else { Taken::Mapped },
            };
            let index = source::open(source, ui)?;
            Space::Image(Box::new(Image::new(
                index,
                base(&args, &file)?,
                args.return_address,
                args.want(),
                &file,
            )?))
        }
        None if args.kernel => Space::Kernel(Box::new(Kernel::open(&args, ui)?)),
        None => Space::Process(Box::new(match args.pid {
            Some(pid) => Process::live(pid, &args, ui)?,
            None => Process::recorded(args.maps.as_deref().unwrap_or("".as_ref()), &args, ui)?,
        })),
    };
    let writer = Writer::new(Manner {
        style,
        demangle: !args.no_demangle,
        all: args.all,
        color: ui.paints_results(),
        module,
    });
    // llvm-symbolizer makes one array of the addresses on its command line,
    // and a line of each one that it reads.
    let array = style == Style::LlvmJson
        && !addresses.is_empty()
        && addresses.iter().all(|address| address != "-");
    let mut session = Session {
        space,
        writer,
        output: Output::default(),
        spare: Vec::new(),
        ui,
        code: exit::OK,
        array,
        answered: 0,
    };
    if addresses.is_empty() {
        stream::run(&mut session)?;
    }
    for address in &addresses {
        match address.as_encoded_bytes() {
            b"-" => stream::run(&mut session)?,
            text => session.answer(text)?,
        }
    }
    if array {
        session.output.buffer().extend_from_slice(b"]\n");
    }
    session.output.flush()?;
    Ok(session.code)
}

fn style(args: &LookupArgs) -> Result<Style, Failure> {
    match (args.json, args.style) {
        (false, style) => Ok(style.unwrap_or_default()),
        (true, None) => Ok(Style::Json),
        (true, Some(Style::Llvm)) => Ok(Style::LlvmJson),
        (true, Some(_)) => Err(Failure::usage(
            "lookup: expected --json alone or with --style llvm, found another style; leave one of them out",
        )),
    }
}

fn base(args: &LookupArgs, file: &std::path::Path) -> Result<Base, Failure> {
    Ok(if args.offset {
        Base::Offset
    } else if let Some(name) = &args.section {
        Base::Section(name.clone())
    } else if let Some(address) = args.load_address {
        Base::LoadAddress(address)
    } else if let Some(bias) = args.bias {
        Base::Bias(bias)
    } else if let Some(sections) = &args.module_sections {
        Base::ModuleSections(module_sections::read(sections, file)?)
    } else {
        Base::Svma
    })
}

/// Where addresses are looked up.
enum Space {
    Image(Box<Image>),
    Process(Box<Process>),
    Kernel(Box<Kernel>),
}

/// One run: where to look, how to print, and what came of it so far.
struct Session {
    space: Space,
    writer: Writer,
    output: Output,
    /// Buffers of answers that were written.
    spare: Vec<Vec<u8>>,
    ui: Ui,
    code: u8,
    /// The answers are elements of one array.
    array: bool,
    answered: u64,
}

impl Session {
    /// Answers one query.
    fn answer(&mut self, text: &[u8]) -> Result<(), Failure> {
        let text = text.trim_ascii();
        let found = match &mut self.space {
            Space::Image(image) => stream::find(image, text),
            Space::Process(process) => match Query::parse(text) {
                Some(query) => process.find(query),
                None => Found::Wrong(query::EXPECTED.to_owned()),
            },
            Space::Kernel(kernel) => match Query::parse(text) {
                Some(query) => kernel.find(query),
                None => Found::Wrong(query::EXPECTED.to_owned()),
            },
        };
        let address = Query::parse(text).map_or(0, |query| query.address);
        let out = self.output.buffer();
        if self.array {
            out.push(if self.answered == 0 { b'[' } else { b',' });
        }
        self.answered = self.answered.saturating_add(1);
        let written = self.writer.write(out, text, address, &found);
        if self.array && out.last() == Some(&b'\n') {
            out.pop();
        }
        if let Err(error) = written {
            self.code = exit::SOME_FAILED;
            self.output.flush()?;
            self.ui.error(error);
        }
        self.output.relieve()
    }
}
