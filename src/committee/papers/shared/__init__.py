"""Parts of all papers: tables, splits, journals of cells, comparisons, pages, pictures."""
