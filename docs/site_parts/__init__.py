"""What the website needs beside Sphinx's own extensions."""
