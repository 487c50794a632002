//! TLB designs, walks and cost models.
