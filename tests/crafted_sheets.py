"""Spreadsheets of a few cells, as their formats define them: numbers, text and dates."""

import datetime
import io
import zipfile
from xml.sax.saxutils import escape

_XLSX = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ODS = "urn:oasis:names:tc:opendocument:xmlns"


def xlsx(*sheets):
    """Bytes of an .xlsx file; a sheet is a list of rows."""
    numbers = range(1, len(sheets) + 1)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/></Types>',
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{_XLSX}" xmlns:r="{_RELATED}"><sheets>'
        + "".join(f'<sheet name="Sheet{k}" sheetId="{k}" r:id="rId{k}"/>' for k in numbers)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {f"rId{k}": ("worksheet", f"worksheets/sheet{k}.xml") for k in numbers} | {"rId0": ("styles", "styles.xml")}
        ),
        # the second style is that of a date
        "xl/styles.xml": f'<styleSheet xmlns="{_XLSX}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        "</styleSheet>",
    }
    for k, rows in zip(numbers, sheets, strict=True):
        cells = "".join(f"<row>{''.join(map(_xlsx_cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{k}.xml"] = f'<worksheet xmlns="{_XLSX}"><sheetData>{cells}</sheetData></worksheet>'
    return _zipped(parts)


def ods(rows):
    """Bytes of an .ods file."""
    cells = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
    content = (
        f'<office:document-content xmlns:office="{_ODS}:office:1.0" xmlns:table="{_ODS}:table:1.0"'
        f' xmlns:text="{_ODS}:text:1.0"><office:body><office:spreadsheet><table:table table:name="Sheet1">{cells}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    return _zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_ODS}:manifest:1.0"/>',
            "content.xml": content,
        }
    )


def _xlsx_cell(value):
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    return "<c/>" if value is None else f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def _ods_cell(value):
    if isinstance(value, datetime.date):
        return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
    if isinstance(value, int | float):
        return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'
    if value is None:
        return "<table:table-cell/>"
    return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'


def _relations(targets):
    found = "".join(
        f'<Relationship Id="{key}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{found}</Relationships>'


def _zipped(parts):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as folder:
        for name, content in parts.items():
            folder.writestr(name, content)
    return whole.getvalue()
