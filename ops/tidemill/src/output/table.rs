//! Columns for people.

use std::fmt::Write;

/// Rows under headings, printed in columns that are as wide as they must be.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().take(self.headings.len()).collect());
    }

    /// The table's lines.
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> =
            (0..self.headings.len()).map(|column| self.width(column)).collect();
        let mut out = String::new();
        let headings = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell:width$}  ");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        let cells =
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([self.headings[column].len()]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["TOPIC", "N"]);
        table.row(["größe".to_owned(), "12".to_owned()]);
        table.row(["a-long-name".to_owned(), "3".to_owned()]);
        assert_eq!(table.render(), "TOPIC        N\ngröße        12\na-long-name  3\n");
    }
}
