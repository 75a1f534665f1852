use linux_perf_event_reader::Endianness;

use super::*;

fn mmap(pid: i32, start: u64, mode: CpuMode) -> Mmap<'static> {
    Mmap {
        pid,
        tid: pid,
        start,
        length: 0x1000,
        offset: 0,
        name: if mode == CpuMode::Kernel { b"[module]" } else { b"/bin/app" },
        build_id: None,
        mode,
        execute: true,
        huge: false,
    }
}

/// Mappings of the process seen last were never forgotten while others had fewer, and
/// those of the kernel started anew with each time that others were: both grew with the file.
#[test]
fn mappings_stay_within_their_bound_whoever_has_them() {
    let header = Header::new(Endianness::LittleEndian, true);
    let (mut processes, mut dsos) = (Processes::default(), Dsos::new());
    for pid in 1..=3 {
        processes.mmap(&mmap(pid, 0x1000, CpuMode::User), &header, &mut dsos);
        processes.seen(pid, pid);
    }
    let starts = (1..=3 * u64::try_from(MOST_MAPS).unwrap_or(0)).map(|at| at << 16);
    for start in starts {
        processes.mmap(&mmap(3, start, CpuMode::User), &header, &mut dsos);
        processes.mmap(&mmap(-1, start, CpuMode::Kernel), &header, &mut dsos);
    }
    let user = processes.user(3, 3).map_or(0, |maps| maps.owned(LIST));
    assert!((1..=MOST_MAPS).contains(&user), "{user}");
    assert_eq!(processes.kernel.owned(0), MOST_KERNEL);
    assert!(processes.forgotten > 0);
}

/// Code that the kernel gave up still counted: on a machine that loads and unloads BPF
/// programs, new ones had no name after some hours.
#[test]
fn code_that_the_kernel_gave_up_makes_room() {
    let (mut processes, mut dsos) = (Processes::default(), Dsos::new());
    let mut symbol = Ksymbol { start: 0x1000, length: 64, removed: false, name: b"bpf_prog" };
    for _ in 0..=MOST_MAPS {
        processes.ksymbol(&Ksymbol { removed: true, ..symbol }, &mut dsos);
        processes.ksymbol(&symbol, &mut dsos);
    }
    symbol.start = 0x2000;
    processes.ksymbol(&symbol, &mut dsos);
    assert!(processes.kernel.find(0x2010).is_some());
    assert_eq!(processes.forgotten, 0);
}

/// They were counted with those of processes, which forgot them when it counted anew.
#[test]
fn the_kernels_mappings_are_bounded_whatever_processes_do() {
    let (mut all, mut dsos) = (Processes::default(), Dsos::new());
    for start in (0u64..).step_by(0x1000).take(MOST_KERNEL.saturating_mul(2)) {
        let symbol = Ksymbol { start, length: 16, removed: false, name: b"bpf_prog" };
        all.ksymbol(&symbol, &mut dsos);
        if start.is_multiple_of(1 << 22) {
            all.forget_maps();
        }
    }
    assert_eq!(all.kernel.list().len(), MOST_KERNEL);
}

/// A list that two processes share was nobody's when mappings were counted anew.
#[test]
fn mappings_that_are_shared_count_when_others_are_forgotten() {
    let mut all = Processes::default();
    for pid in 1..=5 {
        all.processes.entry(pid).or_default().used = u64::from(pid <= 2);
    }
    for start in 0..10u64 {
        let end = start.saturating_add(1);
        let map = Map { start, end, offset: 0, dso: DsoId::REST, pid: 1 };
        all.change_maps(1, |maps| {
            maps.insert(map);
        });
    }
    let shared = all.processes.get(&1).map(|process| process.maps.clone());
    all.set_maps(2, shared.unwrap_or_default());
    all.forget_maps();
    assert_eq!(all.maps, 10 + LIST);
    all.change_maps(1, |maps| *maps = Maps::default());
    all.change_maps(2, |maps| *maps = Maps::default());
    assert_eq!(all.maps, 0);
}

#[test]
fn names_of_any_length_are_kept() {
    assert_eq!(Name::None.bytes(), None);
    for length in [0, 1, 14, 15, 16, LONGEST_COMM] {
        let name = vec![b'n'; length];
        assert_eq!(Name::new(&name).bytes(), Some(name.as_slice()));
        assert_eq!(matches!(Name::new(&name), Name::Long(_)), length > 15);
    }
}

/// All of them were forgotten, also those with a sample a moment ago.
#[test]
fn past_the_bound_the_threads_unseen_for_longest_are_forgotten() {
    let header = Header::new(Endianness::LittleEndian, true);
    let (mut all, mut dsos) = (Processes::default(), Dsos::new());
    all.mmap(&mmap(1, 0x1000, CpuMode::User), &header, &mut dsos);
    for pid in 2..100_000 {
        all.comm_record(&Comm { pid, tid: pid, name: b"name", exec: false });
        all.seen(1, 1);
        assert!(all.threads.len().max(all.processes.len()) <= MOST_THREADS);
    }
    assert!(all.user(1, 1).is_some_and(|maps| maps.find(0x1000).is_some()));
    assert_eq!(all.comm(99_999), Some(b"name".as_slice()));
    assert_eq!(all.comm(2), None);
    assert!(all.forgotten > 0);
}

/// One process with more threads than are kept keeps its mappings.
#[test]
fn names_of_threads_go_before_the_mappings_of_their_process() {
    let header = Header::new(Endianness::LittleEndian, true);
    let (mut all, mut dsos) = (Processes::default(), Dsos::new());
    all.mmap(&mmap(7, 0x1000, CpuMode::User), &header, &mut dsos);
    all.comm_record(&Comm { pid: 1, tid: 1, name: b"old", exec: false });
    for tid in 8..50_000 {
        all.comm_record(&Comm { pid: 7, tid, name: b"name", exec: false });
        all.seen(7, tid);
    }
    assert!(all.user(7, 49_999).is_some_and(|maps| maps.find(0x1000).is_some()));
    assert!(all.threads.len() <= MOST_THREADS);
}
