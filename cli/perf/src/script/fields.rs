//! Which columns are printed: `-F` as perf takes it.
//!
//! In: the option's text. Out: a set of fields, or one line saying what is wrong.

/// The columns of a sample.
///
/// ```
/// use symidx_perf::Fields;
///
/// let fields = Fields::default(); // as perf chooses them
/// assert!(fields.comm && fields.ip && !fields.pid);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fields {
    /// The thread's name.
    pub comm: bool,
    /// The process.
    pub pid: bool,
    /// The thread.
    pub tid: bool,
    /// The processor.
    pub cpu: bool,
    /// The time.
    pub time: bool,
    /// How many events the sample stands for.
    pub period: bool,
    /// The event's name.
    pub event: bool,
    /// The address, and with it the call chain.
    pub ip: bool,
    /// The symbol.
    pub sym: bool,
    /// How far the address is into it.
    pub symoff: bool,
    /// Whose code it is.
    pub dso: bool,
}

impl Default for Fields {
    /// perf's choice for clocks and counters.
    fn default() -> Self {
        let mut fields = Self::none();
        for name in ["comm", "tid", "cpu", "time", "period", "event", "ip", "sym", "symoff", "dso"]
        {
            fields.set(name, true);
        }
        fields
    }
}

impl Fields {
    /// No column at all.
    ///
    /// ```
    /// use symidx_perf::Fields;
    ///
    /// let mut fields = Fields::none();
    /// (fields.ip, fields.sym) = (true, true);
    /// assert_eq!(fields, Fields::parse("ip,sym").unwrap());
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self {
            comm: false,
            pid: false,
            tid: false,
            cpu: false,
            time: false,
            period: false,
            event: false,
            ip: false,
            sym: false,
            symoff: false,
            dso: false,
        }
    }

    /// `comm,tid,ip`: these; `+symoff,-period`: the usual ones with changes.
    ///
    /// # Errors
    /// What was expected and what was found.
    ///
    /// ```
    /// use symidx_perf::Fields;
    ///
    /// let fields = Fields::parse("comm,ip,sym")?;
    /// assert!(fields.comm && !fields.dso);
    /// assert!(Fields::parse("-period")?.event);
    /// assert!(Fields::parse("sym").is_err(), "no address to name");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let changes = text.starts_with(['+', '-']);
        let mut fields = if changes { Self::default() } else { Self::none() };
        for word in text.split(',') {
            let (name, on) = match word.split_at_checked(1) {
                Some(("+", name)) if changes => (name, true),
                Some(("-", name)) if changes => (name, false),
                _ => (word, true),
            };
            if !fields.set(name, on) {
                return Err(format!(
                    "expected fields such as comm,tid,time,ip,sym,dso, found `{word}`; \
                     known: comm, pid, tid, cpu, time, period, event, ip, sym, symoff, dso"
                ));
            }
        }
        if !fields.ip && (fields.sym || fields.dso || fields.symoff) {
            return Err(
                "expected ip among the fields with sym, symoff or dso, found none".to_owned()
            );
        }
        if fields.symoff && !fields.sym {
            return Err("expected sym among the fields with symoff, found none".to_owned());
        }
        Ok(fields)
    }

    fn set(&mut self, name: &str, on: bool) -> bool {
        let field = match name {
            "comm" => &mut self.comm,
            "pid" => &mut self.pid,
            "tid" => &mut self.tid,
            "cpu" => &mut self.cpu,
            "time" => &mut self.time,
            "period" => &mut self.period,
            "event" => &mut self.event,
            "ip" => &mut self.ip,
            "sym" => &mut self.sym,
            "symoff" => &mut self.symoff,
            "dso" => &mut self.dso,
            // perf's word for tracepoints' own fields, which clocks do not have.
            "trace" => return true,
            _ => return false,
        };
        *field = on;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_named_or_the_usual_ones_with_changes() {
        let parsed = Fields::parse("comm,tid,time,ip,sym,dso");
        let expected = Fields {
            comm: true,
            tid: true,
            time: true,
            ip: true,
            sym: true,
            dso: true,
            ..Fields::none()
        };
        assert_eq!(parsed, Ok(expected));
        assert_eq!(Fields::parse("+pid"), Ok(Fields { pid: true, ..Fields::default() }));
        let fewer = Fields { period: false, cpu: false, ..Fields::default() };
        assert_eq!(Fields::parse("-period,-cpu"), Ok(fewer));
        for wrong in ["", "nothing", "comm,,ip", "dso", "ip,symoff"] {
            assert!(Fields::parse(wrong).is_err(), "{wrong}");
        }
    }
}
