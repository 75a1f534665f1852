//! In: the truth about a binary and a seed. Out: lists of addresses, the same ones every time.
//! Only fair questions are asked: every address has one right answer (`Hit` or `Miss`), known before.
//! Never: draws an address whose answer depends on rules that differ between tools.

use crate::Result;
use crate::truth::{Answer, Truth};

/// The lists that the contenders are timed on, all of the same length.
pub struct Lists {
    /// Inside function symbols, every eighth at a function's start.
    pub hits: Vec<u64>,
    /// In thirds: outside the image, in gaps between functions, in ranges that no section covers.
    pub misses: Vec<u64>,
    /// 70 % inside functions, 10 % function starts, 20 % misses.
    pub mixed: Vec<u64>,
    /// `mixed`, sorted.
    pub sorted: Vec<u64>,
    /// Half unknown, the known half drawn from few hot functions and many cold ones.
    pub profile: Vec<u64>,
}

/// splitmix64: short, seeded, good enough to spread addresses.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound`; 0 for an empty range.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let index = self.below(u64::try_from(from.len()).ok()?);
        from.get(usize::try_from(index).ok()?).copied()
    }
}

/// Draws the lists of `len` addresses each. Fails when the binary has no function symbols.
pub fn draw(truth: &Truth<'_>, len: usize, seed: u64) -> Result<Lists> {
    let mut draw = Draw::new(truth, seed)?;
    let hits = draw.list(len, |draw, i| {
        if i % 8 == 0 {
            draw.entry()
        } else {
            draw.inside()
        }
    });
    let misses = draw.list(len, |draw, i| draw.miss(i));
    let mut mixed = draw.list(len, |draw, i| match i % 10 {
        0..7 => draw.inside(),
        7 => draw.entry(),
        _ => draw.miss(i / 10),
    });
    let mut profile = draw.list(len, |draw, i| {
        if i % 2 == 0 {
            draw.hot()
        } else {
            draw.miss(i / 2)
        }
    });
    draw.shuffle(&mut mixed);
    draw.shuffle(&mut profile);
    let mut sorted = mixed.clone();
    sorted.sort_unstable();
    Ok(Lists {
        hits,
        misses,
        mixed,
        sorted,
        profile,
    })
}

struct Draw<'t> {
    truth: &'t Truth<'t>,
    random: Random,
    /// (start, end) of the functions, shuffled.
    functions: Vec<(u64, u64)>,
    /// Stretches between the symbols of a code section.
    gaps: Vec<(u64, u64)>,
    /// Stretches between sections.
    holes: Vec<(u64, u64)>,
    /// The image: first to last address of any section.
    image: (u64, u64),
}

impl<'t> Draw<'t> {
    fn new(truth: &'t Truth<'t>, seed: u64) -> Result<Self> {
        let mut functions: Vec<(u64, u64)> = Vec::new();
        for symbol in truth.symbols() {
            let exec = truth
                .section(symbol.start)
                .is_some_and(|section| section.exec && !section.stubs);
            // The reach of an unsized symbol is a matter of opinion a few bytes in; only its first bytes are asked for.
            let end = if symbol.sized {
                symbol.end
            } else {
                symbol.end.min(symbol.start.saturating_add(4))
            };
            if symbol.code
                && exec
                && end > symbol.start
                && functions.last().is_none_or(|last| last.0 != symbol.start)
            {
                functions.push((symbol.start, end));
            }
        }
        if functions.is_empty() {
            return Err("no function symbols; nothing to ask for".into());
        }
        let sections = truth.sections();
        let mut holes: Vec<_> = sections
            .windows(2)
            .filter_map(|pair| Some((pair.first()?.end, pair.last()?.start)))
            .collect();
        holes.retain(|hole| hole.1 > hole.0);
        let mut gaps = Vec::new();
        let mut reach = 0;
        for symbol in truth.symbols() {
            gaps.push((reach, symbol.start));
            reach = symbol.end.max(reach);
        }
        gaps.retain(|gap| {
            let section = truth.section(gap.0);
            gap.1 > gap.0
                && section.is_some_and(|section| section.exec && gap.1 <= section.end)
                && truth.answer(gap.0) == Answer::Miss
        });
        let image = (
            sections.first().map_or(0, |first| first.start),
            sections
                .iter()
                .map(|section| section.end)
                .max()
                .unwrap_or(0),
        );
        let mut draw = Self {
            truth,
            random: Random(seed),
            functions,
            gaps,
            holes,
            image,
        };
        let mut functions = std::mem::take(&mut draw.functions);
        draw.shuffle(&mut functions);
        draw.functions = functions;
        Ok(draw)
    }

    fn list(&mut self, len: usize, mut one: impl FnMut(&mut Self, usize) -> u64) -> Vec<u64> {
        (0..len).map(|i| one(self, i)).collect()
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let bound = u64::try_from(i).unwrap_or(0).saturating_add(1);
            list.swap(i, usize::try_from(self.random.below(bound)).unwrap_or(0));
        }
    }

    /// Any address inside a function whose answer is that function or one nested in it.
    fn inside(&mut self) -> u64 {
        let function = self.random.pick(&self.functions);
        self.within(function)
    }

    /// Inside a function that is the more likely the earlier it comes in the shuffled order.
    fn hot(&mut self) -> u64 {
        let len = u64::try_from(self.functions.len()).unwrap_or(0);
        let mut bound = len;
        for _ in 0..3 {
            bound = self.random.below(bound).saturating_add(1);
        }
        let index = usize::try_from(bound.saturating_sub(1)).unwrap_or(0);
        let function = self.functions.get(index).copied();
        self.within(function)
    }

    fn within(&mut self, function: Option<(u64, u64)>) -> u64 {
        let (start, end) = function.unwrap_or_default();
        let addr = start.saturating_add(self.random.below(end.saturating_sub(start)));
        if matches!(self.truth.answer(addr), Answer::Hit(_)) {
            addr
        } else {
            start
        }
    }

    fn entry(&mut self) -> u64 {
        self.random.pick(&self.functions).unwrap_or_default().0
    }

    fn miss(&mut self, i: usize) -> u64 {
        let stretch = match i % 3 {
            0 => None,
            1 => self.random.pick(&self.gaps),
            // Every other one in the widest: most are a few bytes of alignment.
            _ if i.is_multiple_of(2) => self
                .holes
                .iter()
                .copied()
                .max_by_key(|hole| hole.1 - hole.0),
            _ => self.random.pick(&self.holes),
        };
        match stretch {
            Some((start, end)) => {
                start.saturating_add(self.random.below(end.saturating_sub(start)))
            }
            None => self.outside(),
        }
    }

    /// Before the image or after it, up to where another module would lie.
    fn outside(&mut self) -> u64 {
        let (start, end) = self.image;
        if start > 0 && self.random.below(4) == 0 {
            return self.random.below(start);
        }
        end.saturating_add(self.random.below(1 << 46))
    }
}
