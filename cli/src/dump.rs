//! `symidx dump`: every symbol and name of an index, as text or JSON lines.
//!
//! Stable order: symbols by address (by section and offset in a relocatable
//! file), each with its aliases, then the names without an address. Equal
//! indexes give equal dumps.

mod lines;

use std::path::PathBuf;

use clap::Args;
use symidx::{Corrupt, Kind, Match, Symbol};

use crate::failure::{Failure, exit};
use crate::options::ReadArgs;
use crate::output::Output;
use crate::source::{self, Source, Taken};
use crate::text::{Hex, Object, decimal, hex, plain};
use crate::ui::Ui;

/// Every symbol and name of an index, in a stable order.
#[derive(Args, Debug)]
#[command(
    after_help = "One line per symbol: ADDRESS SIZE KIND BINDING EXTENT SECTION NAME, then its module \
                        in brackets; aliases follow, indented. Names are linkage names. With --lines, one \
                        line per stretch of code: ADDRESS SIZE FUNCTION at FILE:LINE:COLUMN, and what it was \
                        inlined into, indented.\n\n\
                        EXAMPLES:\n  \
                        symidx dump app.symidx | less\n  \
                        diff <(symidx dump old.symidx) <(symidx dump new.symidx)\n  \
                        symidx dump --json app.symidx | jq -r .name\n  \
                        symidx dump --lines app.symidx | grep -c 'at .*/parser.c:'"
)]
pub(crate) struct DumpArgs {
    /// The .symidx file or binary.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// JSON lines.
    #[arg(long)]
    json: bool,
    /// Source lines and inlined functions, in place of symbols and names.
    #[arg(long)]
    lines: bool,
    /// Also look for the binary's index in this store.
    #[arg(long, value_name = "DIR", help_heading = "Reading binaries")]
    store: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

/// Prints all of it.
pub(crate) fn run(args: &DumpArgs, ui: Ui) -> Result<u8, Failure> {
    let source = Source {
        file: &args.file,
        read: &args.read,
        store: args.store.as_deref(),
        in_caches: false,
        taken: Taken::Mapped,
    };
    let index = source::open(source, ui)?;
    let broken = |error: Corrupt| Failure::file(&args.file, error);
    if args.lines {
        if !index.has_lines() {
            ui.note(format_args!(
                "{}: no lines in it; build from a file with debug information, without --names-only",
                args.file.display()
            ));
        }
        lines::dump(&index, args.json, broken)?;
        return Ok(exit::OK);
    }
    let mut output = Output::default();
    for symbol in index.symbols() {
        let symbol = symbol.map_err(broken)?;
        let written = match args.json {
            true => symbol_json(output.buffer(), &symbol),
            false => symbol_text(output.buffer(), &symbol),
        };
        written.map_err(broken)?;
        output.relieve()?;
    }
    for name in index.names() {
        let name = name.map_err(broken)?;
        if name.is_name_only() {
            let written = match args.json {
                true => name_json(output.buffer(), &name),
                false => name_text(output.buffer(), &name),
            };
            written.map_err(broken)?;
            output.relieve()?;
        }
    }
    output.flush()?;
    Ok(exit::OK)
}

fn symbol_text(out: &mut Vec<u8>, symbol: &Symbol<'_>) -> Result<(), Corrupt> {
    hex(out, symbol.start().0);
    out.push(b' ');
    decimal(out, symbol.size());
    for word in [symbol.kind().as_str(), symbol.binding().as_str(), symbol.extent().as_str()] {
        out.push(b' ');
        out.extend_from_slice(word.as_bytes());
    }
    out.push(b' ');
    match symbol.section()? {
        Some(section) if !section.name().is_empty() => plain(out, &section.name().to_bytes()),
        _ => out.push(b'-'),
    }
    out.push(b' ');
    plain(out, &symbol.stored_name().to_bytes());
    if let Some(module) = symbol.module()? {
        out.extend_from_slice(b" [");
        plain(out, &module.to_bytes());
        out.push(b']');
    }
    out.push(b'\n');
    for alias in symbol.aliases() {
        let alias = alias?;
        out.extend_from_slice(b"  alias ");
        decimal(out, alias.stated_size().into());
        for word in [alias.kind().as_str(), alias.binding().as_str()] {
            out.push(b' ');
            out.extend_from_slice(word.as_bytes());
        }
        out.push(b' ');
        plain(out, &alias.stored_name().to_bytes());
        out.push(b'\n');
    }
    Ok(())
}

fn symbol_json(out: &mut Vec<u8>, symbol: &Symbol<'_>) -> Result<(), Corrupt> {
    let section = symbol.section()?.map(|section| section.name().to_bytes());
    let mut object = Object::new(out);
    object.name("name", &symbol.stored_name().to_bytes());
    object
        .field("address", Hex(symbol.start().0))
        .field("size", symbol.size())
        .field("kind", symbol.kind().as_str())
        .field("binding", symbol.binding().as_str())
        .field("extent", symbol.extent().as_str())
        .field("section", section)
        .field("module", symbol.module()?.map(symidx::Name::to_bytes));
    let flags =
        [(symbol.is_part(), "part"), (symbol.is_folded(), "folded"), (symbol.is_dwarf(), "dwarf")];
    let flags: Vec<&str> = flags.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag).collect();
    object.list("flags", &flags);
    let out = object.key("aliases");
    out.push(b'[');
    for (i, alias) in symbol.aliases().enumerate() {
        let alias = alias?;
        if i > 0 {
            out.push(b',');
        }
        let mut entry = Object::new(out);
        entry.name("name", &alias.stored_name().to_bytes());
        entry
            .field("size", u64::from(alias.stated_size()))
            .field("kind", alias.kind().as_str())
            .field("binding", alias.binding().as_str());
        entry.end();
    }
    out.push(b']');
    object.end_line();
    Ok(())
}

fn name_text(out: &mut Vec<u8>, name: &Match<'_>) -> Result<(), Corrupt> {
    hex(out, name.address());
    out.push(b' ');
    decimal(out, name.size());
    for word in [name.kind().as_str(), name.binding().as_str()] {
        out.push(b' ');
        out.extend_from_slice(word.as_bytes());
    }
    out.extend_from_slice(b" name-only ");
    match name.section()? {
        Some(section) if !section.name().is_empty() => plain(out, &section.name().to_bytes()),
        _ => out.push(b'-'),
    }
    out.push(b' ');
    plain(out, &name.stored_name().to_bytes());
    out.push(b'\n');
    Ok(())
}

fn name_json(out: &mut Vec<u8>, name: &Match<'_>) -> Result<(), Corrupt> {
    let section = match name.kind() {
        Kind::Tls | Kind::Absolute => None,
        _ => name.section()?.map(|section| section.name().to_bytes()),
    };
    let mut object = Object::new(out);
    object.name("name", &name.stored_name().to_bytes());
    object
        .field("address", Hex(name.address()))
        .field("size", name.size())
        .field("kind", name.kind().as_str())
        .field("binding", name.binding().as_str())
        .field("section", section)
        .field("name_only", true);
    object.end_line();
    Ok(())
}
