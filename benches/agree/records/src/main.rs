//! Recordings in, one line each of what both readers make of them out; exit code 1 where
//! anything differs.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut differ = false;
    for path in std::env::args().skip(1) {
        let compared = std::fs::read(&path).map_err(|error| error.to_string());
        match compared.and_then(|bytes| records::compare(&bytes)) {
            Ok(found) => {
                println!(
                    "{path}: {} records the same ({} of equal times in another order), {} build-ids the same, {} differences",
                    found.same,
                    found.reordered,
                    found.build_ids,
                    found.differences.len()
                );
                found.differences.iter().take(20).for_each(|line| println!("  {line}"));
                differ |= !found.differences.is_empty();
            }
            Err(error) => {
                println!("{path}: {error}");
                differ = true;
            }
        }
    }
    ExitCode::from(u8::from(differ))
}
