//! In: options. Out: the run, printed as tables.
//! Never: measures before every index is built and every library but the late one is loaded.

use std::sync::Arc;

use symidx::process::{ModuleKind, Modules, Resolver, Store};

use crate::alloc::count;
use crate::passes::{Cost, backtrace, measure, symidx_frames, symidx_names};
use crate::pick::{Class, Frame, Random, pick};
use crate::{Options, Result, compare, load, prepare};

pub fn run(options: &Options) -> Result<()> {
    let mut loaded = Vec::new();
    for library in &options.libraries {
        match load::load(library) {
            Ok(()) => loaded.push(library.clone()),
            Err(error) => eprintln!("SKIPPED {library}: {error}"),
        }
    }
    let modules = Modules::capture();
    let index_bytes = prepare::build_all(&modules, &options.store)?;
    let wanted = |module: &symidx::process::Module, number: u32| {
        number == 0
            || loaded.iter().any(|library| {
                let name = std::path::Path::new(library).file_name().unwrap_or_default();
                module.path().file_name() == Some(name)
            })
    };
    let mut random = Random::new(options.seed);
    let mut frames = Vec::new();
    let numbers: Vec<u32> = (0..)
        .zip(&modules)
        .filter(|(number, module)| wanted(module, *number))
        .map(|(number, _)| number)
        .collect();
    println!("## {} modules, {} of them in the stacks", modules.len(), numbers.len());
    for (place, &number) in numbers.iter().enumerate() {
        let count =
            options.frames * (place + 1) / numbers.len() - options.frames * place / numbers.len();
        let picked = picked(&modules, number, count, options, &mut random)?;
        let module = modules.get(number).ok_or("a module")?;
        println!(
            "{:5} addresses, {:6.1} MiB {}",
            picked.len(),
            mebibytes(module.file().metadata()?.len()),
            module.path().file_name().unwrap_or_default().display()
        );
        frames.extend(picked);
    }
    let recorded = stacks(&frames, &mut random);
    let mut addresses = recorded.clone();
    addresses.sort_unstable();
    println!("indexes: {:.1} MiB", mebibytes(index_bytes));

    let rival = || {
        for (order, addresses) in [("sorted", &addresses), ("in stacks", &recorded)] {
            for pass in 1..=options.passes {
                print(
                    &format!("backtrace, {order}, pass {pass}"),
                    &measure(|cost| backtrace(addresses, cost)),
                );
            }
        }
    };
    header();
    if options.rival_first {
        rival();
    }
    let mut kept = None;
    // Each with a store of its own, so that each opens the indexes itself.
    for (name, names_only) in [("frames", false), ("names", true)] {
        let ((modules, capture), heap) = count(|| {
            let start = std::time::Instant::now();
            (Modules::capture(), start.elapsed())
        });
        let start = std::time::Instant::now();
        // SAFETY: nobody changes the indexes of this run.
        let store = unsafe { Store::mapped() }.with_directory(&options.store);
        let mut resolver = Resolver::new(modules, Arc::new(store));
        println!(
            "symidx {name}: capture {:.0} µs, {} bytes; resolver {:.0} µs",
            micros(capture),
            heap.bytes,
            micros(start.elapsed())
        );
        for pass in 1..=options.passes {
            // In the order of the stacks: sorting is part of the pass.
            let mut room = recorded.clone();
            let cost = measure(|cost| match names_only {
                true => symidx_names(&mut resolver, &mut room, cost),
                false => symidx_frames(&mut resolver, &mut room, cost),
            });
            print(&format!("symidx {name}, pass {pass}"), &cost);
        }
        kept = Some(resolver);
    }
    if !options.rival_first {
        rival();
    }
    let mut resolver = kept.ok_or("a resolver")?;

    // A library that comes later.
    let mut late = None;
    match load::load(&options.late) {
        Err(error) => eprintln!("SKIPPED {}: {error}", options.late),
        Ok(()) => {
            prepare::build_all(&Modules::capture(), &options.store)?;
            let start = std::time::Instant::now();
            resolver.update()?;
            println!("update after dlopen: {:.0} µs", micros(start.elapsed()));
            resolver.store().forget_missing();
            let modules = resolver.modules();
            let number = (0..).zip(modules.iter()).find(|(_, module)| {
                module
                    .path()
                    .file_name()
                    .is_some_and(|name| options.late.ends_with(&*name.to_string_lossy()))
            });
            if let Some((number, _)) = number {
                let more = picked(modules, number, options.frames / 10, options, &mut random)?;
                let mut all: Vec<u64> = addresses.clone();
                all.extend(more.iter().map(|frame| frame.address));
                all.sort_unstable();
                print(
                    "symidx frames, with the late library",
                    &measure(|cost| symidx_frames(&mut resolver, &mut all, cost)),
                );
                print("backtrace, with the late library", &measure(|cost| backtrace(&all, cost)));
                // Module numbers may have changed with the update.
                for frame in &mut frames {
                    frame.module = modules_number(&resolver, frame.address);
                }
                frames.extend(more);
                late = Some(number);
            }
        }
    }
    println!("\n## Names");
    let is_late = |frame: &Frame| Some(frame.module) == late;
    for ((class, relation), (count, example)) in compare::compare(&resolver, &frames, &is_late) {
        println!("{count:5} {class:?} {relation:?}\n      {example}");
    }
    let of = |class| frames.iter().filter(|frame| frame.class == class).count();
    println!(
        "{} in functions, {} in stubs, {} in gaps",
        of(Class::Function),
        of(Class::Stub),
        of(Class::Gap)
    );
    Ok(())
}

/// The addresses in the order of stacks: runs of up to eight calls in one
/// module, then another one's.
fn stacks(frames: &[Frame], random: &mut Random) -> Vec<u64> {
    let mut left: Vec<&[Frame]> = frames.chunk_by(|a, b| a.module == b.module).collect();
    let mut recorded = Vec::with_capacity(frames.len());
    while !left.is_empty() {
        let at = random.place(left.len());
        let (run, rest) = left[at].split_at(left[at].len().min(1 + random.place(8)));
        recorded.extend(run.iter().map(|frame| frame.address));
        match rest.is_empty() {
            true => drop(left.swap_remove(at)),
            false => left[at] = rest,
        }
    }
    recorded
}

fn modules_number(resolver: &Resolver, address: u64) -> u32 {
    let located = resolver.modules().find(address);
    located.map_or(u32::MAX, |located| located.number())
}

/// Addresses in one module.
fn picked(
    modules: &Modules,
    number: u32,
    count: usize,
    options: &Options,
    random: &mut Random,
) -> Result<Vec<Frame>> {
    let module = modules.get(number).ok_or("a module")?;
    if module.kind() != ModuleKind::File {
        return Ok(Vec::new());
    }
    let start = module.range().start;
    let located = modules.find(start).ok_or("a module's first address")?;
    let svma = located.svma().ok_or("a module's bias")?;
    let bias = start.wrapping_sub(svma.0);
    pick(module, number, bias, count, options.functions, random)
}

fn header() {
    println!(
        "\n{:42} {:>10} {:>8} {:>12} {:>9} {:>9} {:>7} {:>7} {:>7} {:>6}",
        "",
        "time, µs",
        "opening",
        "heap, bytes",
        "calls",
        "held",
        "faults",
        "opening",
        "named",
        "frames"
    );
}

fn print(label: &str, cost: &Cost) {
    println!(
        "{label:42} {:10.0} {:8.0} {:12} {:9} {:9} {:7} {:7} {:7} {:6}",
        micros(cost.time),
        micros(cost.opening),
        cost.heap.bytes,
        cost.heap.calls,
        cost.heap.held,
        cost.faults,
        cost.opening_faults,
        cost.named,
        cost.functions
    );
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn mebibytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX)) / 1024.0
}
