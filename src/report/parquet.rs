//! `per_transcript.parquet`: the rows of `per_transcript.csv` with their types, an empty cell a null.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::csv;
use crate::replay::Totals;
use crate::sweep::Knobs;

/// Rows in a row group: some megabytes.
const ROWS_A_GROUP: usize = 1 << 17;

/// Values of one column, and which rows have one.
enum Column {
    Text(Vec<ByteArray>, Vec<i16>),
    Integer(Vec<i64>, Vec<i16>),
    Real(Vec<f64>, Vec<i16>),
}

impl Column {
    /// Takes a cell of the CSV's.
    fn push(&mut self, cell: &str) -> Result<()> {
        let wrong = || ParquetError::General("a cell that is no number".to_owned());
        let there = i16::from(!cell.is_empty());
        match self {
            Self::Text(values, defined) => {
                defined.push(there);
                values.extend((there == 1).then(|| ByteArray::from(cell)));
            }
            Self::Integer(values, defined) => {
                defined.push(there);
                if there == 1 {
                    values.push(cell.parse().map_err(|_| wrong())?);
                }
            }
            Self::Real(values, defined) => {
                defined.push(there);
                if there == 1 {
                    values.push(cell.parse().map_err(|_| wrong())?);
                }
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        match self {
            Self::Text(values, defined) => (values.clear(), defined.clear()),
            Self::Integer(values, defined) => (values.clear(), defined.clear()),
            Self::Real(values, defined) => (values.clear(), defined.clear()),
        };
    }
}

/// `per_transcript.parquet`, written as the sweep goes.
pub struct PerTranscript<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: csv::PerTranscriptRows,
    columns: Vec<Column>,
    held: usize,
}

/// An empty column of the type that a name stands for, and that type.
fn column(name: &str) -> Result<(Column, TypePtr)> {
    let (column, physical, logical) = match name {
        "cost_usd" | "refetch_usd" | "refetch_seconds" => (Column::Real(Vec::new(), Vec::new()), Physical::DOUBLE, None),
        "trigger" | "keep" | "clear_at_least" | "first_overflow" => (Column::Integer(Vec::new(), Vec::new()), Physical::INT64, None),
        name if csv::TOTALS.contains(&name) => (Column::Integer(Vec::new(), Vec::new()), Physical::INT64, None),
        _ => (Column::Text(Vec::new(), Vec::new()), Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let of = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical);
    Ok((column, Arc::new(of.build()?)))
}

impl<W: Write + Send> PerTranscript<W> {
    /// Begins the file. `refetch_costs`: as in `per_transcript.csv`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, configs: &[Knobs], refetch_costs: bool) -> Result<Self> {
        let rows = csv::PerTranscriptRows::new(configs, refetch_costs);
        let (columns, types): (Vec<_>, Vec<_>) = rows.head().map(column).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let schema = Type::group_type_builder("cleartune").with_fields(types).build()?;
        // The writer's name and version would make other bytes of the same results.
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by("cleartune".to_owned());
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self { file, rows, columns, held: 0 })
    }

    /// Takes the rows of one transcript, one a config.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, id: &str, session: &str, totals: &[Totals]) -> Result<()> {
        let Self { rows, columns, .. } = self;
        rows.each(id, session, totals, |cells| columns.iter_mut().zip(cells).try_for_each(|(column, cell)| column.push(cell)))?;
        self.held += totals.len();
        if self.held >= ROWS_A_GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            match column {
                Column::Text(values, defined) => writer.typed::<ByteArrayType>().write_batch(values, Some(defined), None)?,
                Column::Integer(values, defined) => writer.typed::<Int64Type>().write_batch(values, Some(defined), None)?,
                Column::Real(values, defined) => writer.typed::<DoubleType>().write_batch(values, Some(defined), None)?,
            };
            writer.close()?;
            column.clear();
        }
        group.close()?;
        self.held = 0;
        Ok(())
    }

    /// Writes what is held and the end of the file; gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> Result<W> {
        if self.held > 0 {
            self.write_group()?;
        }
        self.file.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::policy::ClearToolUses;

    #[test]
    fn the_file_holds_what_the_csv_holds() {
        let configs = [Knobs::none(), Knobs::api(ClearToolUses { exclude_tools: vec!["a,b".to_owned()], ..ClearToolUses::default() })];
        let totals = [
            Totals { requests: 7, cost_usd: 0.1, ..Totals::default() },
            Totals { freed_tokens: -3, first_overflow: Some(2), ..Totals::default() },
        ];
        for (priced, groups) in [(false, 1), (true, 1), (false, ROWS_A_GROUP / 2 + 1)] {
            let mut csv = csv::PerTranscript::new(Vec::new(), &configs, priced).unwrap();
            let mut file = PerTranscript::new(Vec::new(), &configs, priced).unwrap();
            for i in 0..groups {
                csv.add(&i.to_string(), "s", &totals).unwrap();
                file.add(&i.to_string(), "s", &totals).unwrap();
            }
            let csv = String::from_utf8(csv.finish().unwrap()).unwrap();
            let file = SerializedFileReader::new(bytes::Bytes::from(file.finish().unwrap())).unwrap();
            assert_eq!(file.metadata().num_row_groups(), 1 + groups / (ROWS_A_GROUP / 2 + 1));
            let mut of_csv = ::csv::Reader::from_reader(csv.as_bytes());
            let head = of_csv.headers().unwrap().clone();
            let mut rows = file.get_row_iter(None).unwrap();
            for record in of_csv.records() {
                let (record, row) = (record.unwrap(), rows.next().unwrap().unwrap());
                for ((name, cell), (in_file, value)) in head.iter().zip(&record).zip(row.get_column_iter()) {
                    let shown = value.to_string();
                    let same = match cell {
                        "" => shown == "null",
                        cell => shown.trim_matches('"') == cell || shown.parse::<f64>().is_ok_and(|n| cell.parse() == Ok(n)),
                    };
                    assert!(name == in_file && same, "{name} {cell}, {in_file} {shown}");
                }
                assert_eq!(record.len(), row.len());
            }
            assert!(rows.next().is_none());
        }
    }
}
