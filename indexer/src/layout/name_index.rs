//! Names: where each is stored, each distinct one once, and the hash order
//! by which they are found.

use std::borrow::Cow;
use std::collections::HashMap;

use symidx::format::{LONG_NAME, NONE, bucket_of, fingerprint, name_hash};
use zerocopy::little_endian::{U16, U32};

use super::{LayoutError, LayoutOptions, Plan, SectionOrder, count32};
use crate::model::{Image, Symbol};
use crate::normalise::Normalised;

/// Names per bucket of the name index: their tags fit in a cache line.
const NAMES_PER_BUCKET: usize = 8;

/// A name as stored: the plain name, then `@@version`, `@version` or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredName<'data> {
    /// Plain linkage name.
    pub(crate) plain: &'data [u8],
    /// Version without `@`; empty = none.
    pub(crate) version: &'data [u8],
    /// `@@` instead of `@`.
    pub(crate) default_version: bool,
}

impl<'data> StoredName<'data> {
    fn of(normalised: &Normalised<'data>, symbol: &Symbol<'data>) -> Self {
        Self {
            plain: symbol.name,
            version: normalised.version(symbol),
            default_version: symbol.default_version,
        }
    }

    fn unversioned(plain: &'data [u8]) -> Self {
        Self { plain, version: &[], default_version: false }
    }

    /// The bytes between plain name and version.
    #[must_use]
    pub(crate) fn separator(&self) -> &'static [u8] {
        match (self.version.is_empty(), self.default_version) {
            (true, _) => b"",
            (false, true) => b"@@",
            (false, false) => b"@",
        }
    }

    /// Bytes of the whole stored name.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.plain.len().saturating_add(self.separator().len()).saturating_add(self.version.len())
    }

    /// Appends its bytes.
    pub(crate) fn append_to(&self, bytes: &mut Vec<u8>) {
        for part in [self.plain, self.separator(), self.version] {
            bytes.extend_from_slice(part);
        }
    }

    /// True when the length does not fit beside the name's reference and is
    /// stored in front of its bytes.
    #[must_use]
    pub(crate) fn is_long(&self) -> bool {
        self.len() >= usize::from(LONG_NAME)
    }

    /// The order of equal hashes in the file: by plain name, then the default
    /// version first, then by version.
    fn find_order(&self) -> (&'data [u8], bool, &'data [u8]) {
        let other = !self.version.is_empty() && !self.default_version;
        (self.plain, other, self.version)
    }
}

/// Distinct names in storage order, with the unit of their offsets. Holds the
/// symbols themselves and their order: a name costs four bytes here.
#[derive(Debug, Default)]
pub(crate) struct NamePool<'data> {
    /// Storage order: numbers of `symbols`, then `names_only`, then `others`.
    order: Vec<u32>,
    symbols: Vec<Symbol<'data>>,
    names_only: Vec<Symbol<'data>>,
    versions: Vec<&'data [u8]>,
    /// Names of sections, modules, and of functions and files that no symbol names.
    others: Vec<Cow<'data, [u8]>>,
    /// log2 of the offsets' unit: 0 unless the names pass 4 GiB.
    pub(crate) shift: u32,
    /// Bytes of the names section.
    pub(crate) size: u64,
    /// The bytes of that section where they are packed.
    pub(crate) packed: Option<Vec<u8>>,
}

impl<'data> NamePool<'data> {
    /// Appends a name; returns its reference.
    fn push(&mut self, number: u32, name: &StoredName<'_>) -> (u64, u16) {
        let unit = 1u64 << self.shift;
        let start = self.size.next_multiple_of(unit);
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
        let prefix = if name.is_long() { 4 } else { 0 };
        self.size = start.saturating_add(prefix).saturating_add(length);
        self.order.push(number);
        let short = u16::try_from(name.len()).unwrap_or(LONG_NAME);
        (start >> self.shift, short)
    }

    /// Takes the bytes of a packed section in place of plain names.
    pub(super) fn pack(&mut self, section: Vec<u8>) {
        self.size = u64::try_from(section.len()).unwrap_or(u64::MAX);
        self.shift = 0;
        self.packed = Some(section);
    }

    /// Appends a name that no symbol has.
    #[cfg(test)]
    pub(super) fn push_other(&mut self, name: &'data [u8]) {
        let number = u32::try_from(self.others.len()).unwrap_or(u32::MAX);
        self.push(number, &StoredName::unversioned(name));
        self.others.push(Cow::Borrowed(name));
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Takes over the symbols that its numbers mean.
    pub(super) fn adopt(&mut self, normalised: Normalised<'data>) {
        self.symbols = normalised.names;
        self.names_only = normalised.names_only;
        self.versions = normalised.versions;
    }

    /// The names in storage order; each starts at a multiple of `1 << shift`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = StoredName<'_>> + '_ {
        self.order.iter().map(|&number| self.name(number))
    }

    fn name(&self, number: u32) -> StoredName<'_> {
        let mut at = usize::try_from(number).unwrap_or(usize::MAX);
        for symbols in [&self.symbols, &self.names_only] {
            if let Some(symbol) = symbols.get(at) {
                let version = usize::try_from(symbol.version).unwrap_or(usize::MAX);
                return StoredName {
                    plain: symbol.name,
                    version: self.versions.get(version).copied().unwrap_or_default(),
                    default_version: symbol.default_version,
                };
            }
            at = at.saturating_sub(symbols.len());
        }
        StoredName::unversioned(self.others.get(at).map_or(&[], |name| name))
    }
}

/// Fills every `name` field of the plan, the name index and the pool.
pub(super) fn place<'data>(
    image: &Image<'data>,
    normalised: &Normalised<'data>,
    owner_records: &[u32],
    sections: &SectionOrder,
    options: LayoutOptions,
    plan: &mut Plan<'data>,
) -> Result<(), LayoutError> {
    let catalogue = Catalogue::new(normalised, owner_records, plan)?;
    let order = catalogue.hash_order();
    let first_of = catalogue.first_of_equal(&order);
    let mut shift = 0;
    let references = loop {
        let mut pool = NamePool { shift, ..NamePool::default() };
        match catalogue.store(&first_of, options, &mut pool) {
            Some(references) => {
                plan.names = pool;
                break references;
            }
            None if shift < 8 => shift = shift.saturating_add(1),
            None => return Err(LayoutError::NamesTooLarge),
        }
    };
    catalogue.fill(&references, plan);
    let symbols = normalised.names.len().saturating_add(normalised.names_only.len());
    let symbols = count32(symbols)?;
    place_other_names(image, sections, symbols, plan)?;
    place_line_names(|name| catalogue.find(&order, &references, name), symbols, plan)?;
    let buckets = u32::try_from(order.len().div_ceil(NAMES_PER_BUCKET)).unwrap_or(u32::MAX);
    let mut next_bucket = 0;
    for (position, &(hash, entry)) in (0u32..).zip(&order) {
        while next_bucket <= bucket_of(hash, buckets) {
            plan.name_buckets.push(position);
            next_bucket = next_bucket.saturating_add(1);
        }
        plan.name_order.push(catalogue.id(entry));
        plan.name_tags.push(fingerprint(hash));
    }
    if buckets > 0 {
        let end = count32(order.len())?;
        while next_bucket <= buckets {
            plan.name_buckets.push(end);
            next_bucket = next_bucket.saturating_add(1);
        }
    }
    Ok(())
}

/// Every name that can be found, with the places that refer to it.
struct Catalogue<'a, 'data> {
    normalised: &'a Normalised<'data>,
    /// Name id of each entry, ascending: records, aliases, names only.
    ids: Vec<u32>,
    /// The symbol of each entry: an index into `normalised.names`, or past
    /// its end into `normalised.names_only`.
    symbols: Vec<u32>,
    /// For each alias of the plan the entry whose name it shows.
    alias_entries: Vec<u32>,
    records: usize,
    aliases: usize,
}

impl<'a, 'data> Catalogue<'a, 'data> {
    fn new(
        normalised: &'a Normalised<'data>,
        owner_records: &[u32],
        plan: &Plan<'data>,
    ) -> Result<Self, LayoutError> {
        let (records, aliases) = (plan.records.len(), plan.aliases.len());
        let total = records.saturating_add(aliases).saturating_add(plan.names_only.len());
        count32(total)?;
        let names = normalised.names.len().saturating_add(normalised.names_only.len());
        count32(names)?;
        let mut this = Self {
            normalised,
            ids: Vec::with_capacity(names),
            symbols: Vec::with_capacity(names),
            alias_entries: vec![NONE; aliases],
            records,
            aliases,
        };
        // The entry of each of `normalised.names`.
        let mut entry_of_name = vec![NONE; normalised.names.len()];
        for (owner, &record) in normalised.owners.iter().zip(owner_records) {
            if !owner.is_unnamed() {
                this.push(record, owner.first_name, &mut entry_of_name)?;
            }
        }
        let mut alias = 0usize;
        let mut shared = Vec::new();
        for owner in &normalised.owners {
            for name in 1..owner.listed_names {
                let symbol = owner.first_name.saturating_add(name);
                if name < owner.own_names {
                    let id = count32(records.saturating_add(alias))?;
                    let entry = this.push(id, symbol, &mut entry_of_name)?;
                    if let Some(slot) = this.alias_entries.get_mut(alias) {
                        *slot = entry;
                    }
                } else {
                    shared.push((alias, symbol));
                }
                alias = alias.saturating_add(1);
            }
        }
        for (alias, symbol) in shared {
            let symbol = usize::try_from(symbol).unwrap_or(usize::MAX);
            let entry = entry_of_name.get(symbol).copied().unwrap_or(NONE);
            if let Some(slot) = this.alias_entries.get_mut(alias) {
                *slot = entry;
            }
        }
        for only in 0..plan.names_only.len() {
            let id = count32(records.saturating_add(aliases).saturating_add(only))?;
            let symbol = count32(normalised.names.len().saturating_add(only))?;
            this.push(id, symbol, &mut entry_of_name)?;
        }
        Ok(this)
    }

    fn push(&mut self, id: u32, symbol: u32, entries: &mut [u32]) -> Result<u32, LayoutError> {
        let entry = count32(self.ids.len())?;
        self.ids.push(id);
        self.symbols.push(symbol);
        if let Some(slot) = usize::try_from(symbol).ok().and_then(|s| entries.get_mut(s)) {
            *slot = entry;
        }
        Ok(entry)
    }

    fn id(&self, entry: u32) -> u32 {
        usize::try_from(entry).ok().and_then(|e| self.ids.get(e)).copied().unwrap_or(NONE)
    }

    /// The entry's symbol, as [`NamePool`] numbers it.
    fn number(&self, entry: u32) -> u32 {
        usize::try_from(entry).ok().and_then(|e| self.symbols.get(e)).copied().unwrap_or(NONE)
    }

    fn name(&self, entry: u32) -> StoredName<'data> {
        let symbol = usize::try_from(self.number(entry)).unwrap_or(usize::MAX);
        let names = &self.normalised.names;
        let symbol = names
            .get(symbol)
            .or_else(|| self.normalised.names_only.get(symbol.checked_sub(names.len())?));
        symbol.map_or(StoredName::unversioned(&[]), |s| StoredName::of(self.normalised, s))
    }

    /// (hash, entry) in file order: by hash, then as [`StoredName::find_order`]
    /// says, then by id.
    fn hash_order(&self) -> Vec<(u32, u32)> {
        let count = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
        let mut order: Vec<(u32, u32)> =
            (0..count).map(|entry| (name_hash(self.name(entry).plain), entry)).collect();
        order.sort_unstable();
        for run in order.chunk_by_mut(|a, b| a.0 == b.0) {
            if run.len() > 1 {
                run.sort_by(|a, b| {
                    let key = |entry: u32| (self.name(entry), self.id(entry));
                    let ((a, a_id), (b, b_id)) = (key(a.1), key(b.1));
                    a.find_order().cmp(&b.find_order()).then(a_id.cmp(&b_id))
                });
            }
        }
        order
    }

    /// For each entry the first one with the same stored name.
    fn first_of_equal(&self, order: &[(u32, u32)]) -> Vec<u32> {
        let mut first_of: Vec<u32> = vec![NONE; self.ids.len()];
        for equal in order.chunk_by(|a, b| a.0 == b.0 && self.name(a.1) == self.name(b.1)) {
            let first = equal.iter().map(|&(_, entry)| entry).min().unwrap_or(NONE);
            for &(_, entry) in equal {
                if let Some(slot) = usize::try_from(entry).ok().and_then(|e| first_of.get_mut(e)) {
                    *slot = first;
                }
            }
        }
        first_of
    }

    /// Stores each distinct name once, in entry order (so that neighbours in
    /// memory are neighbours in the file); `None` when an offset does not fit.
    fn store(
        &self,
        first_of: &[u32],
        options: LayoutOptions,
        pool: &mut NamePool<'data>,
    ) -> Option<Vec<(U32, U16)>> {
        let mut references: Vec<(U32, U16)> = Vec::with_capacity(first_of.len());
        for (entry, &first) in (0u32..).zip(first_of) {
            let reference = match usize::try_from(first).ok().and_then(|f| references.get(f)) {
                Some(&reference) if first != entry => reference,
                _ => {
                    let (offset, len) = pool.push(self.number(entry), &self.name(entry));
                    let offset = Some(offset).filter(|&o| o <= options.max_name_offset)?;
                    (u32::try_from(offset).ok()?.into(), len.into())
                }
            };
            references.push(reference);
        }
        Some(references)
    }

    /// Where an unversioned name is stored, if a symbol has it.
    fn find(
        &self,
        order: &[(u32, u32)],
        references: &[(U32, U16)],
        name: &[u8],
    ) -> Option<(U32, U16)> {
        let hash = name_hash(name);
        let first = order.partition_point(|&(other, _)| other < hash);
        let mut equal = order.get(first..)?.iter().take_while(|&&(other, _)| other == hash);
        let wanted = StoredName::unversioned(name);
        let (_, entry) = equal.find(|&&(_, entry)| self.name(entry) == wanted)?;
        references.get(usize::try_from(*entry).ok()?).copied()
    }

    /// Writes the references into the plan's tables.
    fn fill(&self, references: &[(U32, U16)], plan: &mut Plan<'data>) {
        let reference =
            |entry: u32| usize::try_from(entry).ok().and_then(|e| references.get(e)).copied();
        for (&id, &(name, name_len)) in self.ids.iter().zip(references) {
            let id = usize::try_from(id).unwrap_or(usize::MAX);
            if let Some(record) = plan.records.get_mut(id) {
                (record.name, record.name_len) = (name, name_len);
            }
            let only = id.checked_sub(self.records.saturating_add(self.aliases));
            if let Some(only) = only.and_then(|only| plan.names_only.get_mut(only)) {
                (only.name, only.name_len) = (name, name_len);
            }
        }
        for (alias, &entry) in plan.aliases.iter_mut().zip(&self.alias_entries) {
            if let Some((name, name_len)) = reference(entry) {
                (alias.name, alias.name_len) = (name, name_len);
            }
        }
    }
}

/// Names of functions and files: a symbol's where one has it, else behind the others.
fn place_line_names<'data>(
    of_symbol: impl Fn(&[u8]) -> Option<(U32, U16)>,
    symbols: u32,
    plan: &mut Plan<'data>,
) -> Result<(), LayoutError> {
    let mut known = HashMap::new();
    for (i, name) in std::mem::take(&mut plan.lines.function_names).into_iter().enumerate() {
        let reference = match of_symbol(name) {
            Some(reference) if !name.is_empty() => reference,
            _ => store_once(name, symbols, &mut known, plan)?,
        };
        if let Some(function) = plan.lines.functions.get_mut(i) {
            (function.name, function.name_len) = reference;
        }
    }
    let mut directories: HashMap<Vec<u8>, (U32, U16)> = HashMap::new();
    for (i, (directory, name)) in std::mem::take(&mut plan.lines.file_names).into_iter().enumerate()
    {
        let name = store_once(name, symbols, &mut known, plan)?;
        let directory = match directories.get(&directory) {
            Some(&reference) => reference,
            None => {
                let reference = store(Cow::Owned(directory.clone()), symbols, plan)?;
                directories.insert(directory, reference);
                reference
            }
        };
        if let Some(file) = plan.lines.files.get_mut(i) {
            (file.name, file.name_len) = name;
            (file.directory, file.directory_len) = directory;
        }
    }
    Ok(())
}

/// Names of sections and kernel modules, behind the symbols' names.
fn place_other_names<'data>(
    image: &Image<'data>,
    sections: &SectionOrder,
    symbols: u32,
    plan: &mut Plan<'data>,
) -> Result<(), LayoutError> {
    // Section names repeat in relocatable files (thousands of `.text.f`).
    let mut known = HashMap::new();
    for (at, &i) in sections.order.iter().enumerate() {
        let name = image.sections.get(i).map_or(&[][..], |section| section.name);
        let (offset, len) = store_once(name, symbols, &mut known, plan)?;
        if let Some(section) = plan.sections.get_mut(at) {
            (section.name, section.name_len) = (offset, len);
        }
    }
    for at in 0..plan.regions.len() {
        let module = plan.regions.get(at).map_or(NONE, |region| region.module.get());
        let name = usize::try_from(module)
            .ok()
            .and_then(|module| image.modules.get(module))
            .map_or(&[][..], |name| *name);
        let (offset, len) = store_once(name, symbols, &mut known, plan)?;
        if let Some(region) = plan.regions.get_mut(at) {
            (region.module, region.module_len) = (offset, len);
        }
    }
    Ok(())
}

fn store_once<'data>(
    name: &'data [u8],
    symbols: u32,
    known: &mut HashMap<&'data [u8], (U32, U16)>,
    plan: &mut Plan<'data>,
) -> Result<(U32, U16), LayoutError> {
    if let Some(&reference) = known.get(name) {
        return Ok(reference);
    }
    let reference = store(Cow::Borrowed(name), symbols, plan)?;
    known.insert(name, reference);
    Ok(reference)
}

/// Stores a name that no symbol has.
fn store<'data>(
    name: Cow<'data, [u8]>,
    symbols: u32,
    plan: &mut Plan<'data>,
) -> Result<(U32, U16), LayoutError> {
    if name.is_empty() {
        return Ok((0.into(), 0.into()));
    }
    let number = symbols.saturating_add(count32(plan.names.others.len())?);
    let (offset, len) = plan.names.push(number, &StoredName::unversioned(&name));
    plan.names.others.push(name);
    let offset = u32::try_from(offset).map_err(|_| LayoutError::NamesTooLarge)?;
    Ok((offset.into(), len.into()))
}
