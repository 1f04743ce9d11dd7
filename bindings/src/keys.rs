//! Columns to group by, as numbers from zero on.
//!
//! Devices come in long runs of rows, so a row is first compared with the row
//! ahead of it, and looked up only where it differs.
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::DataType;

use crate::arrow::{Columns, refused};
use crate::error::Refused;

/// Codes of the values of one column, over all batches of a table.
#[derive(Debug)]
enum Values {
    Words { codes: HashMap<String, u32>, all: Vec<String> },
    Numbers { codes: HashMap<i64, u32>, all: Vec<i64> },
}

/// A column to group by.
#[derive(Debug)]
struct Key {
    name: String,
    values: Option<Values>,
}

/// Codes of combinations of columns, over all batches of a table.
#[derive(Debug)]
pub(crate) struct Keys {
    columns: Vec<Key>,
    pairs: Vec<HashMap<(u32, u32), u32>>,
    /// Codes of the columns for each combination.
    groups: Vec<Vec<u32>>,
}

/// The code of a value that is known, or a new one.
fn code<K: Eq + Hash + Clone>(codes: &mut HashMap<K, u32>, all: &mut Vec<K>, value: K) -> u32 {
    *codes.entry(value).or_insert_with_key(|value| {
        all.push(value.clone());
        all.len() as u32 - 1
    })
}

impl Values {
    /// The right kind of codes for a type of column.
    fn new(name: &str, kind: &DataType) -> Result<Self, Refused> {
        let value = match kind {
            DataType::Dictionary(_, value) => value.as_ref(),
            other => other,
        };
        match value {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Ok(Self::Words { codes: HashMap::new(), all: Vec::new() })
            }
            kind if kind.is_integer() && *kind != DataType::UInt64 => {
                Ok(Self::Numbers { codes: HashMap::new(), all: Vec::new() })
            }
            other => {
                let text = format!("column {name:?} holds {other}, not words or whole numbers");
                Err(Refused::Input(text))
            }
        }
    }

    /// `first` is the number of rows ahead of these, for what is refused.
    fn encode(&mut self, name: &str, column: &ArrayRef, first: usize) -> Result<Vec<u32>, Refused> {
        Columns::refuse_nulls(name, column, first)?;
        if let DataType::Dictionary(_, value) = column.data_type() {
            let kind = DataType::Dictionary(Box::new(DataType::Int32), value.clone());
            let column = arrow_cast::cast(column, &kind).map_err(refused)?;
            return self.encode_dictionary(name, column.as_dictionary::<Int32Type>());
        }
        match self {
            Self::Words { codes, all } => {
                let words = arrow_cast::cast(column, &DataType::LargeUtf8).map_err(refused)?;
                let words = words.as_string::<i64>();
                let mut last: Option<(&str, u32)> = None;
                let mut next = |word: &'_ str| code(codes, all, word.to_owned());
                let mut found = Vec::with_capacity(words.len());
                for row in 0..words.len() {
                    let word = words.value(row);
                    let known = last.filter(|(before, _)| *before == word);
                    let (_, code) = *last.insert(known.unwrap_or_else(|| (word, next(word))));
                    found.push(code);
                }
                Ok(found)
            }
            Self::Numbers { codes, all } => {
                let numbers = arrow_cast::cast(column, &DataType::Int64).map_err(refused)?;
                let numbers = numbers.as_primitive::<Int64Type>().values();
                let mut last: Option<(i64, u32)> = None;
                let mut next = |number: i64| code(codes, all, number);
                let mut found = Vec::with_capacity(numbers.len());
                for &number in numbers {
                    let known = last.filter(|(before, _)| *before == number);
                    let (_, code) = *last.insert(known.unwrap_or_else(|| (number, next(number))));
                    found.push(code);
                }
                Ok(found)
            }
        }
    }

    /// Words and numbers of a dictionary are looked up once each.
    fn encode_dictionary<K: ArrowDictionaryKeyType>(
        &mut self,
        name: &str,
        column: &DictionaryArray<K>,
    ) -> Result<Vec<u32>, Refused>
    where
        K::Native: TryInto<usize>,
    {
        let codes = self.encode(name, column.values(), 0)?;
        let code = |key: &K::Native| (*key).try_into().map_or(0, |key: usize| codes[key]);
        Ok(column.keys().values().iter().map(code).collect())
    }

    fn column(&self, codes: impl Iterator<Item = u32>) -> ArrayRef {
        match self {
            Self::Words { all, .. } => {
                let mut words = StringBuilder::new();
                codes.for_each(|code| words.append_value(&all[code as usize]));
                Arc::new(words.finish())
            }
            Self::Numbers { all, .. } => {
                Arc::new(codes.map(|code| all[code as usize]).collect::<Int64Array>())
            }
        }
    }
}

impl Keys {
    pub(crate) fn new(names: &[String]) -> Self {
        let columns = names.iter().map(|name| Key { name: name.clone(), values: None }).collect();
        let pairs = names.iter().skip(1).map(|_| HashMap::new()).collect();
        Self { columns, pairs, groups: Vec::new() }
    }

    /// How many combinations there are so far; one if nothing is grouped by.
    pub(crate) fn len(&self) -> usize {
        if self.columns.is_empty() { 1 } else { self.groups.len() }
    }

    /// The combination of each row; `None` if nothing is grouped by.
    ///
    /// `first` is the number of rows in the batches before.
    pub(crate) fn encode(
        &mut self,
        batch: &RecordBatch,
        first: usize,
    ) -> Result<Option<Vec<u32>>, Refused> {
        let columns = Columns::new(batch);
        let mut combined: Option<Vec<u32>> = None;
        for (position, key) in self.columns.iter_mut().enumerate() {
            let column = columns.column(&key.name)?;
            let values = match &mut key.values {
                Some(values) => values,
                none => none.insert(Values::new(&key.name, column.data_type())?),
            };
            let codes = values.encode(&key.name, column, first)?;
            combined = Some(match combined {
                None => codes,
                Some(before) => combine(&mut self.pairs[position - 1], &before, &codes),
            });
        }
        self.remember();
        Ok(combined)
    }

    /// Keeps which codes of columns each combination stands for.
    fn remember(&mut self) {
        let Some(first) = self.columns.first().and_then(|key| key.values.as_ref()) else { return };
        let count = match first {
            Values::Words { all, .. } => all.len(),
            Values::Numbers { all, .. } => all.len(),
        };
        let mut groups: Vec<Vec<u32>> = (0..count as u32).map(|code| vec![code]).collect();
        for pairs in &self.pairs {
            let mut longer = vec![Vec::new(); pairs.len()];
            for (&(before, code), &place) in pairs {
                longer[place as usize] = [&groups[before as usize][..], &[code]].concat();
            }
            groups = longer;
        }
        self.groups = groups;
    }

    /// The columns for some combinations, under their names; none of them holds a null.
    pub(crate) fn columns(&self, groups: &UInt32Array) -> Vec<(String, ArrayRef, bool)> {
        let of = |position: usize| {
            groups.values().iter().map(move |&group| self.groups[group as usize][position])
        };
        let columns = self.columns.iter().enumerate();
        columns
            .filter_map(|(position, key)| {
                let values = key.values.as_ref()?;
                Some((key.name.clone(), values.column(of(position)), false))
            })
            .collect()
    }
}

fn combine(pairs: &mut HashMap<(u32, u32), u32>, before: &[u32], codes: &[u32]) -> Vec<u32> {
    let mut last: Option<((u32, u32), u32)> = None;
    let mut found = Vec::with_capacity(codes.len());
    for pair in before.iter().copied().zip(codes.iter().copied()) {
        let known = last.filter(|(before, _)| *before == pair);
        let next = pairs.len() as u32;
        let (_, code) =
            *last.insert(known.unwrap_or_else(|| (pair, *pairs.entry(pair).or_insert(next))));
        found.push(code);
    }
    found
}
