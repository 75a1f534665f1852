//! The walk over `dyld`'s images, with a loader that the test plays.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::process::macho::tests::hand_made;
use crate::sys::dyld::tests::fake;
use std::boxed::Box;

const APP: &[u8] = include_bytes!("../../../../testdata/macho/symbols/sym.macho");

/// One test, since there is one loader in a process.
#[test]
fn images_come_and_go_and_are_modules_while_they_are_there() {
    let app = fake::load(APP, 0x0010_0000, c"/Applications/app");
    let modules = own();
    assert_eq!(modules.len(), 1);
    let located = modules.find(0x1_0010_0004).unwrap();
    assert_eq!(located.module().path(), std::path::Path::new("/Applications/app"));
    assert_eq!(located.svma(), Some(crate::Svma(0x1_0000_0004)));
    assert_eq!(located.file_offset(), Some(crate::FileOffset(4)));
    assert!(located.is_executable());
    assert!(located.module().id().is_some());
    assert!(!modules.changed().unwrap());

    // A library with a negative slide, and memory that its file does not hold.
    let library: &'static [u8] = Box::leak(hand_made(true, cfg!(target_endian = "big")).into());
    let library = fake::load(library, -0x1000, c"/usr/lib/libone.dylib");
    assert!(modules.changed().unwrap());
    let modules = modules.again().unwrap();
    assert_eq!(modules.len(), 2);
    let located = modules.find(0x3000).unwrap();
    assert_eq!(located.svma(), Some(crate::Svma(0x4000)));
    assert_eq!(located.file_offset(), Some(crate::FileOffset(0x1000)));
    let memory = modules.find(0x5fff).unwrap();
    assert_eq!((memory.svma(), memory.file_offset()), (Some(crate::Svma(0x6fff)), None));
    assert!(modules.find(0x6000).is_none());
    assert_eq!(modules.iter().nth(1).unwrap().range(), 0x3000..0x6000);

    // Not a header; a null; an image without a name: no module, or one without.
    fake::load(&[0; 64], 0, c"/junk");
    assert!(!modules.changed().unwrap(), "what is no image changes nothing");
    fake::unload(library);
    assert!(modules.changed().unwrap());
    let modules = modules.again().unwrap();
    assert_eq!(modules.len(), 1);
    assert!(modules.find(0x3000).is_none());
    fake::unload(app);
    assert!(modules.again().unwrap().is_empty());

    // Threads that look while images come and go see whole lists.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                let header = fake::load(APP, 0x0010_0000, c"/Applications/app");
                fake::unload(header);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert!(own().len() <= 1);
                }
            });
        }
    });
}
