//! The order of places, by the environment's variables.
#![allow(clippy::unwrap_used)]

use super::*;
use std::string::ToString as _;

fn places(variables: &[(&str, &str)]) -> Vec<Place> {
    Place::defaults(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

fn directory(path: &str) -> Place {
    Place::Directory(path.into())
}

#[test]
fn the_order_is_the_documented_one() {
    let all =
        places(&[("HOME", "/home/u"), ("XDG_CACHE_HOME", "/cache"), ("SYMIDX_PATH", "/one:/two")]);
    let expected = [
        Place::Beside,
        Place::Embedded,
        directory("/one"),
        directory("/two"),
        directory("/cache/symidx"),
        Place::PerfCache("/home/u/.debug".into()),
    ];
    assert_eq!(all, expected);
}

#[test]
fn variables_that_are_unset_empty_or_relative_name_no_place() {
    let own = [Place::Beside, Place::Embedded];
    assert_eq!(places(&[]), own);
    assert_eq!(places(&[("HOME", ""), ("XDG_CACHE_HOME", ""), ("SYMIDX_PATH", "")]), own);
    assert_eq!(places(&[("HOME", "home"), ("XDG_CACHE_HOME", "cache")]), own);
    assert_eq!(places(&[("SYMIDX_PATH", "::/a::")]).get(2..).unwrap(), [directory("/a")]);
    let home = places(&[("HOME", "/h"), ("XDG_CACHE_HOME", "cache")]);
    let expected = [directory("/h/.cache/symidx"), Place::PerfCache("/h/.debug".into())];
    assert_eq!(home.get(2..).unwrap(), expected);
    let cache = places(&[("XDG_CACHE_HOME", "/c")]);
    assert_eq!(cache.get(2..).unwrap(), [directory("/c/symidx")]);
}

#[test]
fn paths_are_those_of_the_layout() {
    let id = |bytes: &[u8]| crate::process::Id::new(bytes).unwrap();
    let path = |id, suffix| {
        let buffer = Buffer::by_id(Path::new("/d"), &id, suffix)?;
        Some(buffer.path().unwrap().display().to_string())
    };
    assert_eq!(path(id(&[0xab]), ".symidx"), None, "no file name is left");
    assert_eq!(path(id(&[0xab, 1]), ".symidx").unwrap(), "/d/.build-id/ab/01.symidx");
    assert_eq!(path(id(&[0xab, 1]), "/symidx").unwrap(), "/d/.build-id/ab/01/symidx");
    assert_eq!(path(id(&[7; 64]), "").unwrap().len(), "/d/.build-id/07/".len() + 126);
    let long = "/x".repeat(3000);
    assert!(Buffer::beside(Path::new(&long)).path().is_none());
}
