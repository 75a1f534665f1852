//! A progress bar for one build.
//!
//! In: the indexer's calls. Out: a bar on standard error once the build has
//! taken about a second, and nothing at all where nobody would see it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
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
pub(crate) struct Bar {
    step: Option<Arc<State>>,
    /// Dropped to end the thread that draws.
    alive: Option<Sender<()>>,
    artist: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State(Mutex<Step>);

/// What is being done: how much of how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    name: &'static str,
    done: u64,
    total: u64,
}

impl Bar {
    /// A bar, if there is somebody to see it.
    pub(crate) fn new(ui: Ui) -> Self {
        if !ui.may_draw() {
            return Self { step: None, alive: None, artist: None };
        }
        let step = Arc::new(State::default());
        let (alive, ended) = mpsc::channel();
        let shown = Arc::clone(&step);
        // A thread that cannot be had costs the bar, not the build.
        let artist = std::thread::Builder::new().spawn(move || draw(&shown, &ended)).ok();
        Self { step: Some(step), alive: Some(alive), artist }
    }

    /// What a build tells its progress to.
    pub(crate) fn listener(&self) -> Listener {
        match &self.step {
            Some(step) => Listener::new(Arc::<State>::clone(step)),
            None => Listener::default(),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(artist) = self.artist.take() {
            // Its bar is gone either way.
            let _ = artist.join();
        }
    }
}

/// Draws the step until the sender is dropped.
fn draw(step: &State, ended: &Receiver<()>) {
    let start = Instant::now();
    let goes_on = |wait| ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
    if !goes_on(PATIENCE) {
        return;
    }
    let bar = ProgressBar::new(0).with_elapsed(start.elapsed());
    let mut shown = Step::default();
    loop {
        let step = step.now();
        if (step.name, step.total) != (shown.name, shown.total) {
            bar.set_style(style(step.total));
            bar.set_message(step.name);
            bar.set_length(step.total);
        }
        bar.set_position(step.done);
        bar.tick();
        shown = step;
        if !goes_on(TICK) {
            break;
        }
    }
    bar.finish_and_clear();
}

impl State {
    fn now(&self) -> Step {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Step)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
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
    fn steps_are_kept_for_the_one_who_draws() {
        let state = Arc::new(State::default());
        let listener = Listener::new(Arc::<State>::clone(&state));
        listener.phase("reading", 3);
        listener.advance(2);
        assert_eq!(state.now(), Step { name: "reading", done: 2, total: 3 });
        listener.phase("writing", 0);
        assert_eq!(state.now(), Step { name: "writing", done: 0, total: 0 });
    }

    #[test]
    fn what_ends_soon_is_not_drawn() {
        let (alive, ended) = mpsc::channel();
        drop(alive);
        let start = Instant::now();
        draw(&State::default(), &ended);
        assert!(start.elapsed() < PATIENCE);
    }
}
