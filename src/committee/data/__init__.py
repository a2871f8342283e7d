"""Input data: encoding of frames and arrays as one matrix, file readers, and example tables."""
