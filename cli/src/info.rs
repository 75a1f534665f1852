//! `symidx info`: what an index holds, where it came from, what was left out.

use std::path::PathBuf;

use clap::Args;
use symidx::format::{
    CONTAINER_ELF, CONTAINER_JITDUMP, CONTAINER_KALLSYMS, CONTAINER_MACHO, CONTAINER_PERF_MAP,
    SEGMENT_EXECUTE, SEGMENT_READ, SEGMENT_WRITE, SectionId, VERSION,
};
use symidx::{Corrupt, Index, LineCounts, Section, metadata};
use symidx_indexer::hex;

use crate::failure::{Failure, exit};
use crate::options::ReadArgs;
use crate::output::Output;
use crate::source::{self, Source, Taken};
use crate::text::{self, Hex, Object, counted, grouped, plain};
use crate::ui::Ui;

/// What an index holds, where it came from and what was left out.
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    symidx info app.symidx\n  \
    symidx info --json app.symidx | jq .counts")]
pub(crate) struct InfoArgs {
    /// The .symidx file or binary.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Also look for the binary's index in this store.
    #[arg(long, value_name = "DIR", help_heading = "Reading binaries")]
    store: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the facts.
pub(crate) fn run(args: &InfoArgs, ui: Ui) -> Result<u8, Failure> {
    let source = Source {
        file: &args.file,
        read: &args.read,
        store: args.store.as_deref(),
        in_caches: false,
        taken: Taken::Mapped,
    };
    let index = source::open(source, ui)?;
    let facts = Facts::gather(&index).map_err(|error| Failure::file(&args.file, error))?;
    let mut output = Output::default();
    let file = args.file.display().to_string();
    match args.json {
        true => facts.json(output.buffer(), &index, &file),
        false => facts.text(output.buffer(), &index, &file),
    }
    output.flush()?;
    Ok(exit::OK)
}

/// The sections that lines are made of.
const LINE_PARTS: [SectionId; 6] = [
    SectionId::LINES,
    SectionId::INLINES,
    SectionId::FILES,
    SectionId::FUNCTIONS,
    SectionId::LINE_SPANS,
    SectionId::LINE_WINDOWS,
];

/// What both forms of output print.
struct Facts<'i> {
    bytes: u64,
    name_bytes: u64,
    symbols: u64,
    functions: u64,
    lines: LineCounts,
    /// Bytes of all that lines are made of, names apart.
    line_bytes: u64,
    sections: Vec<Section<'i>>,
    metadata: metadata::Metadata,
}

impl<'i> Facts<'i> {
    fn gather(index: &'i Index<'_>) -> Result<Self, String> {
        let corrupt = |error: Corrupt| error.to_string();
        let mut symbols = 0u64;
        let mut functions = 0u64;
        for symbol in index.symbols() {
            let kind = symbol.map_err(corrupt)?.kind();
            symbols = symbols.saturating_add(1);
            if matches!(kind, symidx::Kind::Function | symidx::Kind::Ifunc) {
                functions = functions.saturating_add(1);
            }
        }
        let names = index.file_sections().find(|section| section.id == SectionId::NAMES);
        Ok(Self {
            bytes: u64::try_from(index.as_bytes().len()).unwrap_or(u64::MAX),
            name_bytes: names.map_or(0, |names| names.size),
            symbols,
            functions,
            lines: index.line_counts(),
            line_bytes: index
                .file_sections()
                .filter(|section| LINE_PARTS.contains(&section.id))
                .fold(0, |bytes, section| bytes.saturating_add(section.size)),
            sections: index.sections().collect::<Result<_, _>>().map_err(corrupt)?,
            metadata: metadata::read(index)
                .map_err(|violation| violation.to_string())?
                .unwrap_or_default(),
        })
    }

    /// Bytes of the file per symbol, names and lines not counted, in hundredths.
    fn hundredths_per_symbol(&self) -> u64 {
        let rest = self.bytes.saturating_sub(self.name_bytes).saturating_sub(self.line_bytes);
        rest.saturating_mul(100).checked_div(self.symbols).unwrap_or(0)
    }

    fn text(&self, out: &mut Vec<u8>, index: &Index<'_>, file: &str) {
        let mut line = |name: &str, value: &str| {
            plain(out, format!("{name:<14} {value}").as_bytes());
            out.push(b'\n');
        };
        line(
            "file",
            &format!("{file} (index of {}, format version {VERSION})", text::bytes(self.bytes)),
        );
        line(
            "made from",
            &format!(
                "{} of {}, {}",
                container(index),
                text::bytes(index.input_size()),
                self.metadata.machine
            ),
        );
        line("identity", &source::identity(index));
        line("input blake3", &hex(index.input_hash()));
        let options = self.metadata.options.join(" ");
        line("made by", format!("{} {options}", self.metadata.producer).trim_end());
        for (role, hash) in &self.metadata.companions {
            line("companion", &format!("{role}, blake3 {}", hex(hash)));
        }
        let addresses = if index.is_relocatable() { "(section, offset)" } else { "svma" };
        line("addresses", addresses);
        line(
            "symbols",
            &format!(
                "{}, {} of them {}",
                grouped(self.symbols),
                grouped(self.functions),
                if self.functions == 1 { "a function" } else { "functions" }
            ),
        );
        line("aliases", &grouped(index.alias_count().into()));
        line("no address", &grouped(index.names_only_count().into()));
        let hundredths = self.hundredths_per_symbol();
        line(
            "bytes/symbol",
            &format!(
                "{}.{:02} beyond the names' own {}",
                hundredths / 100,
                hundredths % 100,
                text::bytes(self.name_bytes)
            ),
        );
        if let Some(plain) = index.packed_names() {
            let stored = text::bytes(self.name_bytes);
            line("names", &format!("packed, {} in {stored}", text::bytes(plain)));
        }
        let lines = &self.lines;
        match lines.rows {
            0 => line("lines", "none"),
            rows => line(
                "lines",
                &format!(
                    "{} of {} in {}, {}, {}",
                    counted(rows, "row", "rows"),
                    counted(lines.functions, "function", "functions"),
                    counted(lines.files, "file", "files"),
                    counted(lines.inlined, "inlined call", "inlined calls"),
                    text::bytes(self.line_bytes),
                ),
            ),
        }
        if self.metadata.skipped.is_empty() {
            line("left out", "nothing");
        }
        for (reason, count) in &self.metadata.skipped {
            line("left out", &format!("{} {reason}", grouped(*count)));
        }
        if self.metadata.warnings > 0 {
            line("warnings", &grouped(self.metadata.warnings));
        }
        for segment in index.segments() {
            line(
                "segment",
                &format!(
                    "{:#x}..{:#x} {} file {:#x}..{:#x}",
                    segment.address.get(),
                    segment.address.get().wrapping_add(segment.memory_size.get()),
                    permissions(segment.flags.get()),
                    segment.file_offset.get(),
                    segment.file_offset.get().wrapping_add(segment.file_size.get()),
                ),
            );
        }
        for section in &self.sections {
            let name = section.name().to_bytes();
            let name = String::from_utf8_lossy(&name);
            let (start, size) = (section.address().0, section.size());
            line(
                "section",
                &format!("{start:#x}..{:#x} {} {name}", start.wrapping_add(size), flags(section)),
            );
        }
        for section in index.file_sections() {
            let share = section.size.saturating_mul(1000).checked_div(self.bytes).unwrap_or(0);
            line(
                "part",
                &format!(
                    "{:<16} {:>14} bytes {:>3}.{} %",
                    section.id.name().unwrap_or("unknown"),
                    grouped(section.size),
                    share / 10,
                    share % 10
                ),
            );
        }
    }

    fn json(&self, out: &mut Vec<u8>, index: &Index<'_>, file: &str) {
        let mut object = Object::new(out);
        object
            .field("file", file)
            .field("format_version", u64::from(VERSION))
            .field("bytes", self.bytes)
            .field("container", container(index))
            .field("machine", self.metadata.machine.as_str())
            .field("is_64", index.is_64())
            .field("big_endian", index.is_big_endian())
            .field("relocatable", index.is_relocatable())
            .field("build_id", index.build_id().map(hex).as_deref())
            .field("uuid", index.uuid().map(|uuid| hex(&uuid)).as_deref())
            .field("input_bytes", index.input_size())
            .field("input_blake3", hex(index.input_hash()).as_str())
            .field("inputs_digest", hex(index.inputs_digest()).as_str())
            .field("producer", self.metadata.producer.as_str());
        let options: Vec<&str> = self.metadata.options.iter().map(String::as_str).collect();
        object.list("options", &options);
        array(object.key("companions"), &self.metadata.companions, |entry, (role, hash)| {
            entry.field("role", role.as_str()).field("blake3", hex(hash).as_str());
        });
        let mut counts = Object::new(object.key("counts"));
        counts
            .field("symbols", self.symbols)
            .field("functions", self.functions)
            .field("aliases", u64::from(index.alias_count()))
            .field("names_only", u64::from(index.names_only_count()))
            .field("entries", u64::from(index.symbol_count()))
            .field("name_bytes", self.name_bytes)
            .field("line_rows", self.lines.rows)
            .field("inlined_functions", self.lines.inlined)
            .field("line_functions", self.lines.functions)
            .field("files", self.lines.files)
            .field("line_bytes", self.line_bytes)
            .field("warnings", self.metadata.warnings);
        counts.end();
        let plain = index.packed_names();
        let mut names = Object::new(object.key("names"));
        names
            .field("encoding", if plain.is_some() { "packed" } else { "plain" })
            .field("bytes", plain.unwrap_or(self.name_bytes))
            .field("stored", self.name_bytes);
        names.end();
        let hundredths = self.hundredths_per_symbol();
        object
            .key("bytes_per_symbol")
            .extend_from_slice(format!("{}.{:02}", hundredths / 100, hundredths % 100).as_bytes());
        let mut skipped = Object::new(object.key("skipped"));
        for (reason, count) in &self.metadata.skipped {
            skipped.field(reason, *count);
        }
        skipped.end();
        array(object.key("segments"), index.segments(), |entry, segment| {
            entry
                .field("address", Hex(segment.address.get()))
                .field("size", segment.memory_size.get())
                .field("file_offset", Hex(segment.file_offset.get()))
                .field("file_size", segment.file_size.get())
                .field("permissions", permissions(segment.flags.get()).as_str());
        });
        array(object.key("sections"), &self.sections, |entry, section| {
            entry.name("name", &section.name().to_bytes());
            entry
                .field("address", Hex(section.address().0))
                .field("size", section.size())
                .field("flags", flags(section).as_str());
        });
        let parts: Vec<_> = index.file_sections().collect();
        array(object.key("file_sections"), &parts, |entry, part| {
            entry
                .field("name", part.id.name().unwrap_or("unknown"))
                .field("offset", Hex(part.offset))
                .field("bytes", part.size)
                .field("encoding", u64::from(part.encoding))
                .field("blake3", hex(&part.hash).as_str());
        });
        object.end_line();
    }
}

fn array<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Object<'_>, &T)) {
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let mut entry = Object::new(out);
        write(&mut entry, item);
        entry.end();
    }
    out.push(b']');
}

fn container(index: &Index<'_>) -> &'static str {
    match index.identity().container {
        CONTAINER_ELF => "ELF",
        CONTAINER_MACHO => "Mach-O",
        CONTAINER_KALLSYMS => "kallsyms",
        CONTAINER_PERF_MAP => "perf map",
        CONTAINER_JITDUMP => "jitdump",
        _ => "unknown",
    }
}

fn permissions(flags: u32) -> String {
    [(SEGMENT_READ, 'r'), (SEGMENT_WRITE, 'w'), (SEGMENT_EXECUTE, 'x')]
        .into_iter()
        .map(|(flag, letter)| if flags & flag != 0 { letter } else { '-' })
        .collect()
}

fn flags(section: &Section<'_>) -> String {
    [(section.is_writable(), 'w'), (section.is_executable(), 'x'), (section.is_tls(), 't')]
        .into_iter()
        .map(|(on, letter)| if on { letter } else { '-' })
        .collect()
}
