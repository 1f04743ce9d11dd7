//! How values of the engine show themselves in Python.

/// Writes `__repr__` with the named fields.
macro_rules! repr {
    ($($class:ident { $($field:ident),* })*) => {$(
        #[pymethods]
        impl $class {
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                let mut fields = Vec::new();
                $(fields.push(format!(
                    "{}={}", stringify!($field), slf.getattr(stringify!($field))?.repr()?
                ));)*
                Ok(format!("{}({})", stringify!($class), fields.join(", ")))
            }
        }
    )*};
}
