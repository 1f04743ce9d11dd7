//! Linear least squares with few columns, by Cholesky's factors of the normal equations.
//!
//! Columns are scaled to length 1 first. With five of them and thousands of rows the normal equations
//! lose half of the digits, which is far below the noise of a sensor.

/// Share of a column, of length 1, that must not follow from the columns before it.
const INDEPENDENT_MIN: f64 = 1e-12;

/// Coefficients of the columns, and what they leave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    pub(crate) coefficients: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
    /// Sum of the squared residuals.
    pub(crate) squares: f64,
}

/// Fits `columns` to `target`; `None` if they depend on each other.
pub(crate) fn fit(columns: &[Vec<f64>], target: &[f64]) -> Option<Fit> {
    let scales = lengths(columns);
    let factor = factor(columns, &scales)?;
    let moments: Vec<f64> =
        columns.iter().zip(&scales).map(|(column, scale)| dot(column, target) / scale).collect();
    let solution = solve(&factor, moments);
    let coefficients: Vec<f64> =
        solution.iter().zip(&scales).map(|(at, scale)| at / scale).collect();
    let residual = |row: usize| {
        let fitted: f64 =
            columns.iter().zip(&coefficients).map(|(column, part)| column[row] * part).sum();
        target[row] - fitted
    };
    let residuals: Vec<f64> = (0..target.len()).map(residual).collect();
    Some(Fit { squares: dot(&residuals, &residuals), coefficients, residuals })
}

/// Covariance of the coefficients for residuals of variance 1; `None` if the columns depend on each
/// other.
pub(crate) fn covariance(columns: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let scales = lengths(columns);
    let factor = factor(columns, &scales)?;
    let unit = |at: usize| (0..columns.len()).map(|row| f64::from(u8::from(row == at))).collect();
    let column = |at: usize| {
        let solved = solve(&factor, unit(at));
        solved.iter().zip(&scales).map(|(value, scale)| value / (scale * scales[at])).collect()
    };
    Some((0..columns.len()).map(column).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Lengths of the columns.
fn lengths(columns: &[Vec<f64>]) -> Vec<f64> {
    columns.iter().map(|column| dot(column, column).sqrt()).collect()
}

/// Lower triangular factor of the normal equations of the scaled columns.
fn factor(columns: &[Vec<f64>], scales: &[f64]) -> Option<Vec<Vec<f64>>> {
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(columns.len());
    for (row, column) in columns.iter().enumerate() {
        let mut line: Vec<f64> = Vec::with_capacity(row + 1);
        for before in 0..row {
            let product = dot(column, &columns[before]) / (scales[row] * scales[before]);
            line.push((product - dot(&line, &factor[before][..before])) / factor[before][before]);
        }
        let rest = 1.0 - dot(&line, &line);
        if !(scales[row] > 0.0 && rest > INDEPENDENT_MIN) {
            return None;
        }
        line.push(rest.sqrt());
        factor.push(line);
    }
    Some(factor)
}

/// Solves the normal equations for one right-hand side.
fn solve(factor: &[Vec<f64>], mut values: Vec<f64>) -> Vec<f64> {
    for row in 0..values.len() {
        let known = dot(&factor[row][..row], &values[..row]);
        values[row] = (values[row] - known) / factor[row][row];
    }
    for row in (0..values.len()).rev() {
        let known: f64 = (row + 1..values.len()).map(|at| factor[at][row] * values[at]).sum();
        values[row] = (values[row] - known) / factor[row][row];
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points() {
        let columns = [vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]];
        let fit = fit(&columns, &[1.0, 3.0, 5.0, 8.0]).unwrap();
        assert!((fit.coefficients[1] - 2.3).abs() < 1e-12 && (fit.squares - 0.3).abs() < 1e-12);
        let covariance = covariance(&columns).unwrap();
        assert!((covariance[1][1] - 0.2).abs() < 1e-12 && (covariance[0][1] + 0.3).abs() < 1e-12);
    }

    #[test]
    fn columns_that_depend_on_each_other_have_no_fit() {
        let columns = [vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0]];
        assert_eq!(fit(&columns, &[1.0, 2.0, 3.0]), None);
        assert_eq!(covariance(&[vec![0.0; 3]]), None);
    }
}
