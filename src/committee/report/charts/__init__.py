"""Pictures of pages as SVG that is laid out by the browser: any width, text as large as the reader's."""
