"""Pictures of pages, written as SVG: text stays text, colours are the page's, and no drawing library is needed."""
