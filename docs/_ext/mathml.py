"""Formulas as MathML, made by docutils: browsers show it by themselves, screen readers read it."""

from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise_skip()


def visit_block(translator, node):
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise_skip()


def raise_skip():
    from docutils.nodes import SkipNode

    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
