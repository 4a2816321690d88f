// A recursive-descent compiler to a stack machine.
#include "core/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum code {
    NUMBER,
    TIME,
    NEGATE,
    NOT,
    SIN,
    COS,
    TAN,
    SQRT,
    ABS,
    EXP,
    LOG,
    FLOOR,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    POWER,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    EQUAL,
    NOT_EQUAL,
    AND,
    OR,
    MIN,
    MAX,
    STEP,
    SELECT,
    CLAMP
} code;

typedef struct instruction {
    code code;
    double number;
} instruction;

// How many values may wait on the stack, and how deep formulas may nest.
enum { MOST_VALUES = 64, DEEPEST = 200, LONGEST_NUMBER = 60, MOST_TEXT = 4096 };

struct hk_formula {
    char *text;
    int count;
    instruction *program;  // [count]
};

// ---------------------------------------------------------------- values

static double unary(code c, double a)
{
    switch (c) {
    case NEGATE: return -a;
    case NOT: return a == 0;
    case SIN: return sin(a);
    case COS: return cos(a);
    case TAN: return tan(a);
    case SQRT: return sqrt(a);
    case ABS: return fabs(a);
    case EXP: return exp(a);
    case LOG: return log(a);
    default: return floor(a);
    }
}

static double binary(code c, double a, double b)
{
    switch (c) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case POWER: return pow(a, b);
    case LESS: return a < b;
    case LESS_EQUAL: return a <= b;
    case GREATER: return a > b;
    case GREATER_EQUAL: return a >= b;
    case EQUAL: return a == b;
    case NOT_EQUAL: return a != b;
    case AND: return a != 0 && b != 0;
    case OR: return a != 0 || b != 0;
    case MIN: return a < b || isnan(a) ? a : b;  // NaN stays NaN
    case MAX: return a > b || isnan(a) ? a : b;
    default: return b >= a;  // STEP
    }
}

static double ternary(code c, double a, double b, double d)
{
    if (c == SELECT) return a != 0 ? b : d;
    return isnan(a) ? a : fmin(fmax(a, b), d);  // CLAMP
}

// How many values it takes.
static int arity(code c)
{
    if (c <= TIME) return 0;
    if (c <= FLOOR) return 1;
    return c < SELECT ? 2 : 3;
}

double hk_formula_value(const hk_formula *formula, double t)
{
    double stack[MOST_VALUES] = {0};
    int top = 0;
    for (int k = 0; k < formula->count; k++) {
        code c = formula->program[k].code;
        double *at = stack + top - arity(c);
        switch (arity(c)) {
        case 0: *at = c == TIME ? t : formula->program[k].number; break;
        case 1: *at = unary(c, at[0]); break;
        case 2: *at = binary(c, at[0], at[1]); break;
        default: *at = ternary(c, at[0], at[1], at[2]); break;
        }
        top += 1 - arity(c);
    }
    return stack[0];
}

// ---------------------------------------------------------------- the compiler

typedef struct compiler {
    hk_formula *formula;
    const char *at;
    int depth;     // of parentheses, signs and choices
    int on_stack;  // values when the program has run so far
} compiler;

// Columns count characters, not bytes of UTF-8; what cannot be printed is quoted as '?'.
static hk_status fail_at(const compiler *c, const char *at, const char *message)
{
    char quoted[200];
    int column = 1;
    size_t k = 0;
    for (const char *p = c->formula->text; p < at; p++)
        column += ((unsigned char)*p & 0xC0) != 0x80;
    for (; c->formula->text[k] && k < sizeof quoted - 1; k++) {
        unsigned char byte = (unsigned char)c->formula->text[k];
        quoted[k] = byte < ' ' || byte == 0x7F ? '?' : (char)byte;
    }
    while (c->formula->text[k] && k > 0 && ((unsigned char)c->formula->text[k] & 0xC0) == 0x80) k--;
    quoted[k] = '\0';
    return hk_fail(HK_BAD_INPUT, "formula \"%s%s\": column %d: %s", quoted,
                   c->formula->text[k] ? "…" : "", column, message);
}

static hk_status emit(compiler *c, code op, double number)
{
    c->on_stack += 1 - arity(op);
    if (c->on_stack > MOST_VALUES) return fail_at(c, c->at, "the formula is too involved");
    c->formula->program[c->formula->count++] = (instruction){op, number};
    return HK_OK;
}

static void skip_space(compiler *c)
{
    while (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r') c->at++;
}

// Whether `symbol` stands here, and not the beginning of a longer one; moves past it.
static bool accept(compiler *c, const char *symbol)
{
    skip_space(c);
    size_t length = strlen(symbol);
    if (strncmp(c->at, symbol, length) != 0) return false;
    bool longer = strchr("<>=!", symbol[0]) && length == 1 && c->at[1] == '=';
    if (longer) return false;
    c->at += length;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Digits without their point and an exponent: no locale can change what strtod makes of that.
static hk_status read_number(compiler *c, double *value)
{
    char text[LONGEST_NUMBER + 32];
    int length = 0, exponent = 0, written = 0;
    const char *start = c->at;
    bool after_point = false;
    for (; is_digit(*c->at) || (*c->at == '.' && !after_point); c->at++) {
        if (*c->at == '.') {
            after_point = true;
            continue;
        }
        if (length == LONGEST_NUMBER) return fail_at(c, start, "the number has too many digits");
        text[length++] = *c->at;
        exponent -= after_point;
    }
    if (length == 0) return fail_at(c, start, "a digit is missing");
    if (*c->at == 'e' || *c->at == 'E') {
        bool negative = c->at[1] == '-';
        c->at += c->at[1] == '-' || c->at[1] == '+' ? 2 : 1;
        if (!is_digit(*c->at)) return fail_at(c, c->at, "the exponent has no digits");
        for (; is_digit(*c->at); c->at++)
            if (written < 100000) written = 10 * written + (*c->at - '0');
        if (negative) written = -written;
    }
    snprintf(text + length, sizeof text - (size_t)length, "e%d", exponent + written);
    *value = strtod(text, NULL);
    return isfinite(*value) ? HK_OK : fail_at(c, start, "the number is too large");
}

static hk_status choice(compiler *c);

static hk_status expect(compiler *c, const char *symbol, const char *message)
{
    return accept(c, symbol) ? HK_OK : fail_at(c, c->at, message);
}

static hk_status arguments(compiler *c, const char *name, code op, int least, int most)
{
    char message[96];
    snprintf(message, sizeof message, "%s takes %s in parentheses: ( is missing", name,
             most == 1 ? "a value" : "its values");
    HK_TRY(expect(c, "(", message));
    int count = 0;
    do {
        HK_TRY(choice(c));
        if (++count > most) break;
        if (arity(op) == 2 && count >= 2) HK_TRY(emit(c, op, 0));  // min(a, b, c, …)
    } while (accept(c, ","));
    if (count < least || count > most) {
        snprintf(message, sizeof message, "%s takes %d value%s%s", name, least,
                 least == 1 ? "" : "s", most > least ? " or more" : "");
        return fail_at(c, c->at, message);
    }
    if (arity(op) != 2) HK_TRY(emit(c, op, 0));
    return expect(c, ")", "a ) is missing");
}

static hk_status name(compiler *c)
{
    static const struct {
        const char *name;
        code op;
        int least, most;
    } functions[] = {{"sin", SIN, 1, 1},   {"cos", COS, 1, 1},     {"tan", TAN, 1, 1},
                     {"sqrt", SQRT, 1, 1}, {"abs", ABS, 1, 1},     {"exp", EXP, 1, 1},
                     {"log", LOG, 1, 1},   {"floor", FLOOR, 1, 1}, {"min", MIN, 2, 16},
                     {"max", MAX, 2, 16},  {"step", STEP, 2, 2},   {"clamp", CLAMP, 3, 3}};
    const char *start = c->at;
    while (is_letter(*c->at) || is_digit(*c->at)) c->at++;
    size_t length = (size_t)(c->at - start);
    if (length == 1 && *start == 't') return emit(c, TIME, 0);
    if (length == 2 && memcmp(start, "pi", 2) == 0) return emit(c, NUMBER, M_PI);
    for (int k = 0; k < HK_COUNT_OF(functions); k++)
        if (strlen(functions[k].name) == length && memcmp(start, functions[k].name, length) == 0)
            return arguments(c, functions[k].name, functions[k].op, functions[k].least,
                             functions[k].most);
    char message[160];
    snprintf(message, sizeof message,
             "unknown name \"%.*s\" (known: t, pi, sin, cos, tan, sqrt, abs, min, max, exp, log, "
             "floor, step, clamp)",
             length < 40 ? (int)length : 40, start);
    return fail_at(c, start, message);
}

static hk_status primary(compiler *c)
{
    skip_space(c);
    double value = 0;
    if (is_digit(*c->at) || *c->at == '.') {
        HK_TRY(read_number(c, &value));
        return emit(c, NUMBER, value);
    }
    if (is_letter(*c->at)) return name(c);
    if (accept(c, "(")) {
        HK_TRY(choice(c));
        return expect(c, ")", "a ) is missing");
    }
    return fail_at(c, c->at,
                   *c->at ? "a number, t, a function or ( is expected here"
                          : "the formula ends where a value is expected");
}

static hk_status sign(compiler *c);

// a ^ b ^ c is a ^ (b ^ c), and the exponent may have a sign.
static hk_status power(compiler *c)
{
    HK_TRY(primary(c));
    if (!accept(c, "^")) return HK_OK;
    HK_TRY(sign(c));
    return emit(c, POWER, 0);
}

static hk_status sign(compiler *c)
{
    if (c->depth > DEEPEST) return fail_at(c, c->at, "nested too deeply");
    c->depth++;
    hk_status status;
    if (accept(c, "-")) {
        status = sign(c);
        if (status == HK_OK) status = emit(c, NEGATE, 0);
    } else if (accept(c, "!")) {
        status = sign(c);
        if (status == HK_OK) status = emit(c, NOT, 0);
    } else {
        accept(c, "+");
        status = power(c);
    }
    c->depth--;
    return status;
}

// Operators of two values from weakest to strongest; those of a level are taken from the left.
typedef struct operator_level {
    int count;
    struct {
        const char *symbol;
        code op;
    } operators[6];
} operator_level;

static const operator_level LEVELS[] = {
    {1, {{"||", OR}}},
    {1, {{"&&", AND}}},
    {6,
     {{"<=", LESS_EQUAL},
      {">=", GREATER_EQUAL},
      {"==", EQUAL},
      {"!=", NOT_EQUAL},
      {"<", LESS},
      {">", GREATER}}},
    {2, {{"+", ADD}, {"-", SUBTRACT}}},
    {2, {{"*", MULTIPLY}, {"/", DIVIDE}}},
};

static hk_status operators(compiler *c, int level)
{
    if (level == HK_COUNT_OF(LEVELS)) return sign(c);
    HK_TRY(operators(c, level + 1));
    for (;;) {
        int found = -1;
        for (int k = 0; k < LEVELS[level].count && found < 0; k++)
            if (accept(c, LEVELS[level].operators[k].symbol)) found = k;
        if (found < 0) return HK_OK;
        HK_TRY(operators(c, level + 1));
        HK_TRY(emit(c, LEVELS[level].operators[found].op, 0));
    }
}

static hk_status choice(compiler *c)
{
    if (c->depth > DEEPEST) return fail_at(c, c->at, "nested too deeply");
    c->depth++;
    HK_TRY(operators(c, 0));
    if (accept(c, "?")) {
        HK_TRY(choice(c));
        HK_TRY(expect(c, ":", "the : of a ? is missing"));
        HK_TRY(choice(c));
        HK_TRY(emit(c, SELECT, 0));
    }
    c->depth--;
    return HK_OK;
}

static hk_status compile(hk_formula *formula)
{
    compiler c = {.formula = formula, .at = formula->text};
    HK_TRY(choice(&c));
    skip_space(&c);
    return *c.at ? fail_at(&c, c.at, "an operator or the end is expected here") : HK_OK;
}

// Every instruction stands for at least one character.
static hk_formula *allocate(const char *text)
{
    hk_formula *made = HK_NEW(hk_formula);
    if (!made) return NULL;
    made->text = hk_strdup(text);
    made->program = HK_ZEROS(instruction, strlen(text) + 1);
    if (made->text && made->program) return made;
    hk_formula_free(made);
    return NULL;
}

hk_status hk_formula_create(const char *text, hk_formula **formula)
{
    size_t length = strnlen(text, MOST_TEXT + 1);
    if (length > MOST_TEXT)
        return hk_fail(HK_BAD_INPUT, "formula \"%.40s…\": longer than %d characters", text,
                       MOST_TEXT);
    hk_formula *made = allocate(text);
    if (!made) return HK_NO_MEMORY;
    hk_status status = compile(made);
    if (status != HK_OK) {
        hk_formula_free(made);
        return status;
    }
    *formula = made;
    return HK_OK;
}

hk_status hk_formula_copy(const hk_formula *from, hk_formula **copy)
{
    hk_formula *made = allocate(from->text);
    if (!made) return HK_NO_MEMORY;
    made->count = from->count;
    memcpy(made->program, from->program, sizeof(instruction) * (size_t)from->count);
    *copy = made;
    return HK_OK;
}

void hk_formula_free(hk_formula *formula)
{
    if (!formula) return;
    hk_free(formula->text);
    hk_free(formula->program);
    hk_free(formula);
}

const char *hk_formula_text(const hk_formula *formula)
{
    return formula->text;
}

bool hk_formula_is_constant(const hk_formula *formula)
{
    for (int k = 0; k < formula->count; k++)
        if (formula->program[k].code == TIME) return false;
    return true;
}
