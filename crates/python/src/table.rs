//! Tables in memory, for every library that reads Arrow.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of results in Arrow's memory layout. Any library that knows Arrow's C stream reads it
/// without a copy: `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.sql("from t")`.
#[pyclass(frozen, module = "broadleaf")]
pub(crate) struct Table(pub(crate) RecordBatch);

/// A stream of batches as the capsule of Arrow's C stream interface.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

#[pymethods]
impl Table {
    /// The table as a capsule of Arrow's C stream interface. A requested schema is ignored, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = [Ok(self.0.clone())];
        capsule(py, RecordBatchIterator::new(batches, self.0.schema()))
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __repr__(&self) -> String {
        format!(
            "<broadleaf.Table: {} rows, {} columns>",
            self.0.num_rows(),
            self.0.num_columns()
        )
    }
}
