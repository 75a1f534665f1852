//! Which columns are printed: `-F` as perf takes it.
//!
//! In: the option's text. Out: a set of fields, or one line saying what is wrong.

use linux_perf_event_reader::SampleFormat;

use crate::attr::Event;

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
    /// A tracepoint's own fields, which are not read: perf prints none for other events.
    pub trace: bool,
    /// Columns that were asked for by name: a recording that cannot fill one is an error.
    asked: Asked,
}

/// See [`Fields::missing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    ip: bool,
    tid: bool,
    time: bool,
    cpu: bool,
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
    /// (fields.comm, fields.period) = (true, true);
    /// assert_eq!(fields, Fields::parse("comm,period").unwrap());
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
            trace: false,
            asked: Asked::default(),
        }
    }

    /// `comm,tid,ip`: these; `+symoff,-period`: the usual ones with changes. Without ip the
    /// columns sym and dso stay empty, as in perf.
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
    /// assert!(Fields::parse("ip,symoff").is_err(), "an offset into what?");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let changes = text.starts_with(['+', '-']);
        let mut fields = if changes { Self::default() } else { Self::none() };
        for word in text.split(',').filter(|word| !word.is_empty()) {
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
            match name {
                "ip" => fields.asked.ip = on,
                "pid" | "tid" => fields.asked.tid = on,
                "time" => fields.asked.time = on,
                "cpu" => fields.asked.cpu = on,
                _ => {}
            }
        }
        if fields == Self::none() {
            return Err("expected fields such as comm,tid,time,ip,sym,dso, found none".to_owned());
        }
        if fields.symoff && !fields.sym {
            return Err("expected sym among the fields with symoff, found none".to_owned());
        }
        Ok(fields)
    }

    /// The first column that was asked for by name and that samples of an event do not have.
    pub(super) fn missing(&self, event: &Event) -> Option<&'static str> {
        let asked = [
            (self.asked.ip && self.ip, SampleFormat::IP, "ip"),
            (self.asked.tid && self.pid, SampleFormat::TID, "pid"),
            (self.asked.tid && self.tid, SampleFormat::TID, "tid"),
            (self.asked.time && self.time, SampleFormat::TIME, "time"),
            (self.asked.cpu && self.cpu, SampleFormat::CPU, "cpu"),
        ];
        let lacks = |&(is_asked, field, _): &(bool, SampleFormat, _)| {
            is_asked && !event.fields.contains(field)
        };
        asked.into_iter().find(lacks).map(|(_, _, name)| name)
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
            "trace" => &mut self.trace,
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
            asked: Asked { ip: true, tid: true, time: true, cpu: false },
            ..Fields::none()
        };
        assert_eq!(parsed, Ok(expected));
        let asked = Asked { tid: true, ..Asked::default() };
        assert_eq!(Fields::parse("+pid"), Ok(Fields { pid: true, asked, ..Fields::default() }));
        let fewer = Fields { period: false, cpu: false, ..Fields::default() };
        assert_eq!(Fields::parse("-period,-cpu"), Ok(fewer));
        assert_eq!(Fields::parse("comm,,ip"), Fields::parse("comm,ip"));
        assert_eq!(Fields::parse("comm,trace").map(|fields| fields.trace), Ok(true));
        for wrong in ["", ",", "nothing", "comm,nothing", "ip,symoff", "symoff", "-sym"] {
            assert!(Fields::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// As perf: what was asked for by name is an error where it is missing, and what stands
    /// among the usual ones is left out.
    #[test]
    fn only_what_was_asked_for_can_be_missing() {
        let bytes = |fields: u64| {
            let words = [1 | 64 << 32, 0, 1000, fields, 0, 0, 0, 0u64];
            words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
        };
        let event = |fields: SampleFormat| {
            Event::parse(&bytes(fields.bits()), linux_perf_event_reader::Endianness::LittleEndian)
        };
        let missing = |text: &str, has: SampleFormat| {
            let (event, _) = event(has)?;
            Fields::parse(text).ok()?.missing(&event)
        };
        let usual = SampleFormat::IP | SampleFormat::TID | SampleFormat::TIME;
        for (text, has, expected) in [
            ("comm,tid,time,ip,sym", usual, None),
            ("comm,cpu", usual, Some("cpu")),
            ("+cpu", usual, Some("cpu")),
            ("+pid", usual, None),
            ("-cpu", usual, None),
            ("+symoff", usual, None),
            ("+symoff", SampleFormat::IP, None),
            ("comm,cpu", usual | SampleFormat::CPU, None),
            ("ip,sym", SampleFormat::TID, Some("ip")),
            ("pid", SampleFormat::IP, Some("pid")),
            ("tid,ip", SampleFormat::IP, Some("tid")),
            ("time", SampleFormat::IP, Some("time")),
            ("period,event", SampleFormat::IP, None),
        ] {
            assert_eq!(missing(text, has), expected, "{text}");
        }
    }
}
