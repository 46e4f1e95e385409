//! A Markdown table, row by row.

/// Cells of one row.
pub(super) type Row = Vec<String>;

/// A table with a title above it; nothing at all if it has no rows.
pub(super) fn table(title: &str, columns: &[&str], rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut out = format!("### {title}\n\n");
    out.push_str(&line(columns.to_vec()));
    out.push_str(&line(vec!["---"; columns.len()]));
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

/// A number with `digits` decimals, or a dash.
pub(super) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// `a / b` with two decimals, or a dash.
pub(super) fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    number(a.zip(b).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b), 2)
}

/// Bytes as MiB, or a dash.
pub(super) fn mib(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / f64::from(1 << 20)), 0)
}

/// Bytes per second as MB/s, or a dash.
pub(super) fn mb_per_s(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / 1e6), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_rows_is_nothing() {
        assert_eq!(table("t", &["a"], &[]), "");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!(ratio(Some(1.0), None), "-");
        assert_eq!(ratio(Some(1.0), Some(0.0)), "-");
        assert_eq!(ratio(Some(1.0), Some(4.0)), "0.25");
    }

    #[test]
    fn rows_follow_their_columns() {
        let rows = [vec!["1".to_owned(), mib(Some(2_097_152.0))]];
        let expected = "### t\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n";
        assert_eq!(table("t", &["a", "b"], &rows), expected);
    }
}
