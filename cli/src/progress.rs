//! A progress bar for one build.
//!
//! In: the indexer's calls. Out: a bar on standard error once the build has
//! taken about a second, and nothing at all where nobody would see it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use symidx_indexer::progress::{Listener, Progress};

use crate::ui::Ui;

/// Work shorter than this gets no progress bar.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How often a bar that shows no news is drawn.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The bar of one build; cleared when it is dropped.
#[derive(Debug)]
pub(crate) struct Bar(Option<Arc<State>>);

#[derive(Debug)]
struct State {
    start: Instant,
    bar: OnceLock<ProgressBar>,
    step: Mutex<Step>,
}

/// What is being done: how much of how much.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    name: &'static str,
    done: u64,
    total: u64,
}

impl Bar {
    /// A bar, if there is somebody to see it.
    pub(crate) fn new(ui: Ui) -> Self {
        Self(ui.may_draw().then(|| {
            let (bar, step) = (OnceLock::new(), Mutex::default());
            Arc::new(State { start: Instant::now(), bar, step })
        }))
    }

    /// What a build tells its progress to.
    pub(crate) fn listener(&self) -> Listener {
        match &self.0 {
            Some(state) => Listener::new(Arc::<State>::clone(state)),
            None => Listener::default(),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.as_ref().and_then(|state| state.bar.get()) {
            bar.finish_and_clear();
        }
    }
}

impl State {
    fn update(&self, change: impl FnOnce(&mut Step)) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let before = step.name;
        change(&mut step);
        if self.start.elapsed() < PATIENCE {
            return;
        }
        let new = self.bar.get().is_none() || before != step.name;
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::new(0).with_elapsed(self.start.elapsed());
            bar.enable_steady_tick(TICK);
            bar
        });
        if new {
            bar.set_style(style(step.total));
            bar.set_message(step.name);
            bar.set_length(step.total);
        }
        bar.set_position(step.done);
    }
}

impl Progress for State {
    fn phase(&self, name: &'static str, total: u64) {
        self.update(|step| *step = Step { name, done: 0, total });
    }

    fn advance(&self, by: u64) {
        self.update(|step| step.done = step.done.saturating_add(by));
    }
}

fn style(total: u64) -> ProgressStyle {
    let template = match total {
        0 => "{spinner} {msg}, {elapsed}",
        _ => "{bar:40} {msg}, {pos}/{len}, {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_well_formed() {
        for template in ["{spinner} {msg}, {elapsed}", "{bar:40} {msg}, {pos}/{len}, {elapsed}"] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }

    #[test]
    fn a_short_build_draws_nothing() {
        let bar = Bar(Some(Arc::new(State {
            start: Instant::now(),
            bar: OnceLock::new(),
            step: Mutex::default(),
        })));
        bar.listener().phase("reading", 3);
        bar.listener().advance(2);
        let state = bar.0.as_ref();
        assert!(state.is_some_and(|state| state.bar.get().is_none()));
        let step = state.map(|state| *state.step.lock().unwrap_or_else(PoisonError::into_inner));
        assert_eq!(step.map(|step| (step.name, step.done, step.total)), Some(("reading", 2, 3)));
    }
}
