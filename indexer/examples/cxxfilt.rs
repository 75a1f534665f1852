//! Demangles the names on standard input, one a line, as `c++filt -i` does; with
//! the argument `llvm` as `llvm-cxxfilt`.
//!
//! In: names. Out: a line for each. For comparing the spellings with the tools'.

use std::io::{self, BufRead, BufWriter, Write};

use symidx_indexer::demangle::{Demangler, Spelling};

fn main() -> io::Result<()> {
    let spelling = match std::env::args().nth(1).as_deref() {
        Some("llvm") => Spelling::Llvm,
        _ => Spelling::Gnu,
    };
    let mut demangler = Demangler::spelling(true, spelling);
    let mut out = BufWriter::new(io::stdout().lock());
    for name in io::stdin().lock().split(b'\n') {
        out.write_all(demangler.full(&name?))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
